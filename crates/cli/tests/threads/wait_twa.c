// A ticket lock whose threads wait far off, each at a word that others seldom touch, until it is nearly their turn (TWA). As many
// schedules as with its waits replaced by assumptions.
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
// schedules: 72
// check: --checks crash,data-races -DN=3
// exit: 0
// schedules: 12
// symmetric: 72
// check: --checks crash,data-races -DN=3 -DASSUME --no-symmetry
// exit: 0
// schedules: 72
#include <assert.h>
#include <stdatomic.h>
#include "../support/threads.h"

#define PLACES 4

static atomic_uint next_ticket, served, far_off[PLACES];
static int count;

static void *works(void *unused) {
  unsigned mine = atomic_fetch_add(&next_ticket, 1);
  if (mine - atomic_load(&served) > 1) {
    atomic_uint *place = &far_off[mine % PLACES];
#ifdef ASSUME
    (void)atomic_load(place);
    lf_assume(mine - atomic_load(&served) <= 1);
#else
    for (;;) {
      unsigned seen = atomic_load(place);
      if (mine - atomic_load(&served) <= 1)
        break;
      WAIT(atomic_load(place) != seen);
    }
#endif
  }
  WAIT(atomic_load(&served) == mine);
  count++;
  atomic_store(&served, mine + 1);
  atomic_fetch_add(&far_off[(mine + 2) % PLACES], 1);
  return unused;
}

int main(void) {
  run_threads(N, works, 0, 0);
  assert(count == N);
}
