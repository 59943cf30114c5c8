// A mutex of three states (free, taken, taken and somebody waits) over a place to wait that is made of a counter: who waits looks at the
// counter, then at the mutex, and sleeps while the counter is as it was; who wakes counts.
// check: --checks crash,data-races -DN=2 --no-symmetry
// exit: 0
// schedules: 24
// check: --checks crash,data-races -DN=2
// exit: 0
// schedules: 12
// symmetric: 24
// check: --checks crash -DN=3 --bound preemptions=2
// exit: 5
// not: deadlock
// check: --checks crash -DN=2 -DFORGETS
// exit: 100
// finds: deadlock livelock
#include <assert.h>
#include <stdatomic.h>
#include "../support/threads.h"

static atomic_int state, wakes;
static int count;

static void wait_while(int value) {
  int seen = atomic_load(&wakes);
  if (atomic_load(&state) == value)
    while (atomic_load(&wakes) == seen)
      ;
}

static void lock(void) {
  int found = 0;
  if (atomic_compare_exchange_strong(&state, &found, 1))
    return;
  if (found != 2)
    found = atomic_exchange(&state, 2);
  while (found) {
    wait_while(2);
    found = atomic_exchange(&state, 2);
  }
}

static void unlock(void) {
  if (atomic_fetch_sub(&state, 1) != 1) {
    atomic_store(&state, 0);
#ifndef FORGETS
    atomic_fetch_add(&wakes, 1);
#endif
  }
}

static void *works(void *unused) {
  lock();
  count++;
  unlock();
  return unused;
}

int main(void) {
  run_threads(N, works, 0, 0);
  assert(count == N);
}
