// Two updates that get lost, in two functions. Preempting only within one of them finds only that one.
// check: --preempt everywhere
// exit: 100
// finds: assertion deposits
// finds: assertion visits
// check: --within deposit
// exit: 100
// finds: assertion deposits
// not: assertion visits
// check: --without deposit
// exit: 100
// finds: assertion visits
// not: assertion deposits
// check: --without main --without worker --within visit
// exit: 100
// finds: assertion visits
// not: assertion deposits
// check: --within visit --without worker --checks locks
// exit: 5
// limit: sealed
// check: --within nobody_has_this_name
// exit: 2
// says: no function `nobody_has_this_name`
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int deposits, visits;

static void deposit(void) {
  int seen = atomic_load(&deposits);
  atomic_store(&deposits, seen + 1);
}

static void visit(void) {
  int seen = atomic_load(&visits);
  atomic_store(&visits, seen + 1);
}

static void *worker(void *unused) {
  deposit();
  visit();
  return unused;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, worker, NULL);
  worker(NULL);
  pthread_join(other, NULL);
  assert(deposits == 2);
  assert(visits == 2);
  return 0;
}
