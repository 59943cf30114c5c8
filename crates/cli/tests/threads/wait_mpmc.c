// A bounded queue for many: each cell has a number that says whose turn it is. As many schedules as with its waits replaced by assumptions.
// check: --checks crash,data-races -DEACH=1
// exit: 0
// schedules: 1
// check: --checks crash,data-races -DEACH=1 -DASSUME
// exit: 0
// schedules: 1
// check: --checks crash,data-races -DEACH=2 --no-symmetry
// exit: 0
// schedules: 8
// check: --checks crash,data-races -DEACH=2
// exit: 0
// schedules: 4
// symmetric: 8
// check: --checks crash,data-races -DEACH=2 -DASSUME --no-symmetry
// exit: 0
// schedules: 8
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>

#define CELLS 2

static struct {
  atomic_uint number;
  int value;
} cells[CELLS];
static atomic_uint puts_at, takes_at;
static atomic_int sum;

/* Of one attempt: the place that is now ours, or -1. */
static int claim(atomic_uint *at, unsigned offset) {
  unsigned mine = atomic_load(at);
  unsigned number = atomic_load(&cells[mine % CELLS].number);
  if (number != mine + offset)
    return -1;
  return atomic_compare_exchange_strong(at, &mine, mine + 1) ? (int)mine : -1;
}

static int get(atomic_uint *at, unsigned offset) {
  int mine;
#ifdef ASSUME
  mine = claim(at, offset);
  lf_assume(mine >= 0);
#else
  do
    mine = claim(at, offset);
  while (mine < 0);
#endif
  return mine;
}

static void *puts_one(void *own) {
  int mine = get(&puts_at, 0);
  cells[mine % CELLS].value = (int)(long)own;
  atomic_store(&cells[mine % CELLS].number, mine + 1);
  return NULL;
}

static void *takes_one(void *unused) {
  int mine = get(&takes_at, 1);
  atomic_fetch_add(&sum, cells[mine % CELLS].value);
  atomic_store(&cells[mine % CELLS].number, mine + CELLS);
  return unused;
}

int main(void) {
  pthread_t threads[2 * EACH];
  for (int i = 0; i < CELLS; i++)
    cells[i].number = i;
  for (long i = 0; i < EACH; i++)
    pthread_create(&threads[i], 0, puts_one, (void *)(i + 1));
  for (int i = EACH; i < 2 * EACH; i++)
    pthread_create(&threads[i], 0, takes_one, 0);
  for (int i = 0; i < 2 * EACH; i++)
    pthread_join(threads[i], 0);
  assert(sum == EACH * (EACH + 1) / 2);
}
