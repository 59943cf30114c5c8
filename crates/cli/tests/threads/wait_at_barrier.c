// A barrier made of a counter: who arrives last decides, as with its wait replaced by an assumption.
// check: --checks crash -DN=3 --no-symmetry
// exit: 0
// schedules: 6
// check: --checks crash -DN=3
// exit: 0
// schedules: 1
// symmetric: 6
// check: --checks crash -DN=3 -DASSUME --no-symmetry
// exit: 0
// schedules: 6
// check: --checks crash -DN=4 --no-symmetry
// exit: 0
// schedules: 24
// check: --checks crash -DN=4
// exit: 0
// schedules: 1
// symmetric: 24
#include <stdatomic.h>
#include "../support/threads.h"

static atomic_int arrived;

static void *arrives(void *unused) {
  atomic_fetch_add(&arrived, 1);
#ifdef ASSUME
  lf_assume(atomic_load(&arrived) == N);
#else
  while (atomic_load(&arrived) != N)
    ;
#endif
  return unused;
}

int main(void) {
  run_threads(N, arrives, 0, 0);
}
