// A request to stop wakes a thread that waits for something else.
// check: -std=c++20
// exit: 0
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>

int main() {
  std::mutex mutex;
  std::condition_variable_any changed;
  bool never = false;
  std::jthread waiter([&](std::stop_token stop) {
    std::unique_lock held(mutex);
    assert(!changed.wait(held, stop, [&] { return never; }));
    assert(stop.stop_requested());
  });
}
