// Each is the only thing that orders `data`.
// check: -std=c++20 -DLATCH
// exit: 0
// check: -std=c++20 -DBARRIER
// exit: 0
// check: -std=c++20 -DSEMAPHORE
// exit: 0
// check: -std=c++20 -DATOMIC_WAIT
// exit: 0
// check: -std=c++20 -DBROKEN
// exit: 100
// finds: data-race
#include <atomic>
#include <barrier>
#include <cassert>
#include <latch>
#include <semaphore>
#include <thread>

static int data;
static std::latch latch(1);
static std::barrier barrier(2);
static std::binary_semaphore semaphore(0);
static std::atomic<int> flag;

int main() {
  std::thread writer([] {
    data = 1;
#if defined LATCH
    latch.count_down();
#elif defined BARRIER
    barrier.arrive_and_wait();
#elif defined SEMAPHORE
    semaphore.release();
#elif defined ATOMIC_WAIT
    flag = 1;
    flag.notify_one();
#endif
  });
#if defined LATCH
  latch.wait();
#elif defined BARRIER
  barrier.arrive_and_wait();
#elif defined SEMAPHORE
  semaphore.acquire();
#elif defined ATOMIC_WAIT
  flag.wait(0);
#endif
#ifdef BROKEN
  int seen = data;
  (void)seen;
#else
  assert(data == 1);
#endif
  writer.join();
}
