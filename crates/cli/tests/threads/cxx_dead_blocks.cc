// What a lambda captures by reference is gone when the turn of the loop ends that has it; what a temporary keeps, with the statement.
// check:
// check: -O2
// check: -DREFERENCE
// exit: 100
// finds: use-after-free reads 4 bytes of a local variable of thread 0; its block has ended
// check: -DREFERENCE -O2
// exit: 100
// finds: use-after-free reads 4 bytes of a local variable of thread 0; its block has ended
// check: -DTEMPORARY
// exit: 100
// finds: use-after-free reads 1 byte of a local variable of thread 0
// check: -DTEMPORARY -O1
// exit: 100
// finds: use-after-free reads 1 byte of a local variable of thread 0
#include <atomic>
#include <string>
#include <thread>
#include <vector>

static std::atomic<int> sum;
static std::atomic<const char *> text;

int main() {
  std::vector<std::thread> threads;
  for (int turn = 0; turn < 2; turn++) {
    int mine = turn;
#ifdef REFERENCE
    threads.emplace_back([&mine] { sum += mine; });
#else
    threads.emplace_back([mine] { sum += mine; });
#endif
  }
#ifdef TEMPORARY
  threads.emplace_back([] {
    if (const char *found = text)
      (void)*const_cast<const volatile char *>(found);
  });
  text = std::string("short").c_str();
#else
  std::string kept("short");
  text = kept.c_str();
  threads.emplace_back([] { (void)*const_cast<const volatile char *>(text.load()); });
#endif
  for (auto &thread : threads)
    thread.join();
}
