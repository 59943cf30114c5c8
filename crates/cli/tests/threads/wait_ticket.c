// A ticket lock. As many schedules as with its wait replaced by an assumption.
// check: --checks crash,data-races -DN=2 --no-symmetry
// exit: 0
// schedules: 2
// check: --checks crash,data-races -DN=2
// exit: 0
// schedules: 1
// symmetric: 2
// check: --checks crash,data-races -DN=2 -DASSUME --no-symmetry
// exit: 0
// schedules: 2
// check: --checks crash,data-races -DN=3 -O2 --no-symmetry
// exit: 0
// schedules: 6
// check: --checks crash,data-races -DN=3 -O2
// exit: 0
// schedules: 1
// symmetric: 6
// check: --checks crash,data-races -DN=3 -DASSUME --no-symmetry
// exit: 0
// schedules: 6
#include <assert.h>
#include <stdatomic.h>
#include "../support/threads.h"

static atomic_int next, serving;
static int count;

static void *works(void *unused) {
  int mine = atomic_fetch_add(&next, 1);
#ifdef ASSUME
  lf_assume(atomic_load(&serving) == mine);
#else
  while (atomic_load(&serving) != mine)
    ;
#endif
  count++;
  atomic_store(&serving, mine + 1);
  return unused;
}

int main(void) {
  run_threads(N, works, 0, 0);
  assert(count == N);
}
