// std::mutex, std::scoped_lock, std::thread and std::jthread.
// check: -std=c++20
// exit: 0
// check: -std=c++20 -DBROKEN
// exit: 100
// finds: assertion counter == 2
// finds: data-race
#include <cassert>
#include <mutex>
#include <thread>

static std::mutex mutex;
static int counter;

static void increment() {
#ifndef BROKEN
  std::scoped_lock held(mutex);
#endif
  counter++;
}

int main() {
  {
    std::jthread other(increment);
    std::thread third(increment);
    third.join();
  }
  assert(counter == 2);
}
