// What people do with streams and texts in threads, and is right; and a stream that two share, with and without optimisation.
// check: -DBODY=said()
// exit: 0
// check: -DBODY=copied()
// exit: 0
// check: -DBODY=thrown()
// exit: 0
// check: -DBODY=elements(number)
// exit: 0
// check: -DBODY=logged()
// exit: 0
// check: -DBODY=walked() -O2
// exit: 0
// check: -DBODY=shared()
// exit: 5
// limit: unseen
// check: -DBODY=shared() -O2
// exit: 5
// limit: unseen
// check: -DBODY=looked(number)
// exit: 5
// limit: unseen
#include <atomic>
#include <iostream>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Logger {
  std::mutex lock;
  std::ostringstream out;
  std::atomic<bool> stop{false};
};

static const std::string name = "a text that is too long to be kept inside";
static std::vector<std::ostringstream> streams(2);
static std::unique_ptr<Logger> logger = std::make_unique<Logger>();
static auto *common = new std::ostringstream;

static void said() { std::cout << std::endl; }
static void copied() {
  std::string mine = name;
  std::ostringstream own;
  own << name;
}
static void thrown() {
  try {
    throw std::runtime_error(name);
  } catch (const std::runtime_error &) {
  }
}
static void elements(int number) { streams[number] << 5; }
static void logged() {
  {
    std::lock_guard<std::mutex> held(logger->lock);
    logger->out << 1;
  }
  logger->stop = true;
}
// Hundreds of thousands of accesses that nobody shares.
static void walked() {
  std::set<int> own;
  for (int i = 0; i < 64; i++) own.insert(i);
  for (int round = 0; round < 400; round++)
    for (int value : own) (void)value;
}
static void shared() { *common << name; }
static void looked(int number) {
  if (number)
    *common << 5;
  else
    (void)common->str();
}

int main() {
  auto body = [](int number) {
    (void)number;
    BODY;
  };
  std::thread a(body, 0), b(body, 1);
  a.join();
  b.join();
  (void)said, (void)copied, (void)thrown, (void)elements, (void)logged, (void)walked, (void)shared, (void)looked;
}
