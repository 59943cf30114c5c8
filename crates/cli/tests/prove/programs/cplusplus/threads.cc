// Threads, locks, counted pointers and a static variable of C++, as its headers have them.
#include <atomic>
#include <cassert>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

static int &made_once() {
  static int value = [] { return 41; }();
  return value;
}

int main() {
  std::vector<std::thread> all;
  std::atomic<int> sum{0};
  std::shared_mutex lock;
  int total = 0;
  auto five = std::make_shared<int>(5);
  for (int i = 0; i < 2; i++)
    all.emplace_back([&, five] {
      {
        std::unique_lock held(lock);
        total += *five;
      }
#ifdef IN_TWO_STEPS
      sum = sum + made_once();
#else
      sum += made_once();
#endif
    });
  for (auto &thread : all)
    thread.join();
  std::shared_lock held(lock);
  assert(total == 10);
  assert(sum == 82);
#ifdef NOT_GIVEN_BACK
  assert(five.use_count() == 3);
#else
  assert(five.use_count() == 1);
#endif
}
