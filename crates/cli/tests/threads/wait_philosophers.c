// Philosophers who wait for their forks by looking, the last of them for the other fork first. As many schedules as with their waits
// replaced by assumptions.
// check: --checks crash,data-races -DN=2
// exit: 0
// schedules: 2
// check: --checks crash,data-races -DN=2 -DASSUME
// exit: 0
// schedules: 2
// check: --checks crash,data-races -DN=3
// exit: 0
// schedules: 6
// check: --checks crash,data-races -DN=3 -DASSUME
// exit: 0
// schedules: 6
// check: --checks crash,data-races -DN=4
// exit: 0
// schedules: 14
// check: --checks crash,data-races -DN=4 -DASSUME
// exit: 0
// schedules: 14
// check: --checks crash,data-races -DN=5
// exit: 0
// schedules: 30
// check: --checks crash,data-races -DN=5 -DASSUME
// exit: 0
// schedules: 30
// check: --checks crash,data-races -DN=6
// exit: 0
// schedules: 62
// check: --checks crash,data-races -DN=6 -DASSUME
// exit: 0
// schedules: 62
// check: --checks crash,data-races -DN=7
// exit: 0
// schedules: 126
// check: --checks crash,data-races -DN=7 -DASSUME
// exit: 0
// schedules: 126
// check: --checks crash -DN=3 -DGREEDY
// exit: 100
// finds: deadlock livelock
#include <assert.h>
#include <stdatomic.h>
#include "../support/threads.h"

static atomic_int forks[N];
static int meals[N];

static void take(int fork) {
#ifdef ASSUME
  lf_assume(!atomic_exchange(&forks[fork], 1));
#else
  while (atomic_exchange(&forks[fork], 1))
    ;
#endif
}

static void *eats(void *own) {
  int me = (int)(long)own, first = me, second = (me + 1) % N;
#ifndef GREEDY
  if (me == N - 1)
    first = 0, second = me;
#endif
  take(first);
  take(second);
  meals[me]++;
  atomic_store(&forks[second], 0);
  atomic_store(&forks[first], 0);
  return NULL;
}

int main(void) {
  run_threads(N, eats, 0, 1);
  for (int i = 0; i < N; i++)
    assert(meals[i] == 1);
}
