// check:
// exit: 0
// check: -DBROKEN
// exit: 100
// finds: deadlock
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex mutex;
static std::condition_variable changed;
static bool ready;

int main() {
  std::thread waiter([] {
    std::unique_lock held(mutex);
#ifdef BROKEN
    changed.wait(held);
#else
    changed.wait(held, [] { return ready; });
#endif
    assert(ready);
  });
  {
    std::lock_guard held(mutex);
    ready = true;
  }
  changed.notify_one();
  waiter.join();
}
