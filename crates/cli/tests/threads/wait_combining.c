// Each says what it wants; who gets the lock does it for all (flat combining). As many schedules as with its waits replaced by assumptions.
// check: --checks crash,data-races -DN=2
// exit: 0
// schedules: 4
// check: --checks crash,data-races -DN=2 -DASSUME
// exit: 0
// schedules: 4
// check: --checks crash,data-races -DN=3
// exit: 0
// schedules: 27
// check: --checks crash,data-races -DN=3 -DASSUME
// exit: 0
// schedules: 27
#include <assert.h>
#include <stdatomic.h>
#include "../support/threads.h"

static atomic_int taken, wants[N];
static int sum;

/* Was there anything to do? */
static int combine(void) {
  int done = 0;
  for (int i = 0; i < N; i++) {
    int wanted = atomic_load(&wants[i]);
    if (wanted) {
      done = 1;
      sum += wanted;
      atomic_store(&wants[i], 0);
    }
  }
  atomic_store(&taken, 0);
  return done;
}

static void *works(void *own) {
  int me = (int)(long)own;
  atomic_store(&wants[me], me + 1);
#ifdef ASSUME
  if (atomic_load(&wants[me])) {
    lf_assume(!atomic_exchange(&taken, 1));
    lf_assume(combine());
    lf_assume(!atomic_load(&wants[me]));
  }
#else
  while (atomic_load(&wants[me]))
    if (!atomic_exchange(&taken, 1))
      combine();
#endif
  return NULL;
}

int main(void) {
  run_threads(N, works, 0, 1);
  assert(sum == N * (N + 1) / 2);
}
