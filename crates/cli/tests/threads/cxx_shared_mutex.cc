// A writer keeps two numbers equal; readers look at both.
// check:
// exit: 0
// check: -DBROKEN
// exit: 100
// finds: assertion first == second
#include <cassert>
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::shared_mutex mutex;
static volatile int first, second;

static void read() {
  std::shared_lock held(mutex);
  assert(first == second);
}

static void write() {
#ifdef BROKEN
  std::shared_lock held(mutex);
#else
  std::unique_lock held(mutex);
#endif
  first = first + 1;
  second = second + 1;
}

int main() {
  std::thread reader(read), other(read), writer(write);
  reader.join();
  other.join();
  writer.join();
}
