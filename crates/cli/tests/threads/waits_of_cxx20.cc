// What C++20 waits with looks a few times before it sleeps.
// check: --checks crash -std=c++20 -DWAIT
// exit: 0
// schedules: 15
// check: --checks crash -std=c++20 -DLATCH
// exit: 0
// schedules: 270
// check: --checks crash -std=c++20 -DSEMAPHORE
// exit: 0
// schedules: 11
// check: --checks crash -std=c++20 -DWAIT -DEARLY
// exit: 100
// finds: assertion `x == 2` is false
#include <atomic>
#include <cassert>
#include <latch>
#include <semaphore>
#include <thread>
int main() {
#if defined WAIT
  std::atomic<int> x{0};
  std::jthread t([&] {
    x = 1;
    x.notify_one();
#ifdef EARLY
    x = 2;
#endif
  });
  x.wait(0);
#ifdef EARLY
  assert(x == 2);
#else
  assert(x == 1);
#endif
#elif defined LATCH
  std::latch l{3};
  int a = 0, b = 0;
  std::jthread s([&] { a = 1, l.count_down(); }), t([&] { b = 1, l.count_down(); });
  l.arrive_and_wait();
  assert(a && b);
#else
  std::counting_semaphore<2> s{0};
  int got = 0;
  std::jthread t([&] { got = 1, s.release(); });
  s.acquire();
  assert(got == 1);
#endif
}
