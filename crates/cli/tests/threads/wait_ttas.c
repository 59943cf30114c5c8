// A lock that looks before it tries. As many schedules as with its waits replaced by assumptions.
// check: --checks crash,data-races -DN=2 --no-symmetry
// exit: 0
// schedules: 4
// check: --checks crash,data-races -DN=2
// exit: 0
// schedules: 2
// symmetric: 4
// check: --checks crash,data-races -DN=2 -DASSUME --no-symmetry
// exit: 0
// schedules: 4
// check: --checks crash,data-races -DN=3 --no-symmetry
// exit: 0
// schedules: 36
// check: --checks crash,data-races -DN=3
// exit: 0
// schedules: 6
// symmetric: 36
// check: --checks crash,data-races -DN=3 -DASSUME --no-symmetry
// exit: 0
// schedules: 36
// check: --checks crash -DN=2 -DFORGETS
// exit: 100
// finds: deadlock livelock
#include <assert.h>
#include <stdatomic.h>
#include "../support/threads.h"

static atomic_int taken;
static int count;

static void *works(void *unused) {
#ifdef ASSUME
  lf_assume(!atomic_load(&taken));
  lf_assume(!atomic_exchange(&taken, 1));
#else
  do
    while (atomic_load(&taken))
      ;
  while (atomic_exchange(&taken, 1));
#endif
  count++;
#ifndef FORGETS
  atomic_store(&taken, 0);
#endif
  return unused;
}

int main(void) {
  run_threads(N, works, 0, 0);
  assert(count == N);
}
