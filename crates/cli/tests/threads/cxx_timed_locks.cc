// Locks asked for with a deadline: refused only while somebody holds them, and then the time has passed.
// check:
// exit: 0
// check: -DSURE
// exit: 100
// finds: assertion got
#include <cassert>
#include <chrono>
#include <mutex>
#include <semaphore.h>
#include <shared_mutex>
#include <thread>

using namespace std::chrono;

static std::timed_mutex plain;
static std::shared_timed_mutex shared;
static sem_t semaphore;

template <class Lock> static void try_for_a_minute(Lock lock) {
  auto before = steady_clock::now();
  bool got = lock(minutes(1));
#ifdef SURE
  assert(got);
#else
  assert(got || steady_clock::now() - before >= minutes(1));
#endif
}

int main() {
  sem_init(&semaphore, 0, 0);
  std::thread other([] {
    std::lock_guard held(plain);
    std::lock_guard writes(shared);
    sem_post(&semaphore);
  });
  try_for_a_minute([](minutes time) {
    bool got = plain.try_lock_for(time);
    if (got)
      plain.unlock();
    return got;
  });
  try_for_a_minute([](minutes time) {
    bool got = shared.try_lock_shared_for(time);
    if (got)
      shared.unlock_shared();
    return got;
  });
  try_for_a_minute([](minutes time) {
    timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60 * time.count();
    return sem_timedwait(&semaphore, &until) == 0;
  });
  other.join();
}
