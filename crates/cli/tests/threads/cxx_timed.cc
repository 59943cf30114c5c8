// A timed wait may end either way; time is virtual, so that an hour costs nothing.
// check:
// exit: 100
// finds: assertion in_time
// check: -DBOTH
// exit: 0
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex mutex;
static std::condition_variable changed;
static bool ready;

int main() {
  std::thread waiter([] {
    std::unique_lock held(mutex);
    bool in_time = changed.wait_for(held, std::chrono::hours(1), [] { return ready; });
#ifdef BOTH
    assert(in_time == ready);
#else
    assert(in_time);
#endif
  });
  std::this_thread::sleep_for(std::chrono::hours(2));
  {
    std::lock_guard held(mutex);
    ready = true;
  }
  changed.notify_one();
  waiter.join();
}
