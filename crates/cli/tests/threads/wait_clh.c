// A queue lock in which each waits for the one before it (CLH). As many schedules as with its waits replaced by assumptions.
// check: --checks crash,data-races -DN=2 -DTURNS=1
// exit: 0
// schedules: 2
// check: --checks crash,data-races -DN=2 -DTURNS=1 -DASSUME
// exit: 0
// schedules: 2
// check: --checks crash,data-races -DN=3 -DTURNS=1
// exit: 0
// schedules: 6
// check: --checks crash,data-races -DN=3 -DTURNS=1 -DASSUME
// exit: 0
// schedules: 6
// check: --checks crash,data-races -DN=2 -DTURNS=2
// exit: 0
// schedules: 6
// check: --checks crash,data-races -DN=2 -DTURNS=2 -DASSUME
// exit: 0
// schedules: 6
#include <assert.h>
#include <stdatomic.h>
#include "../support/threads.h"

struct node {
  atomic_int taken;
};

static struct node nodes[N + 1];
static _Atomic(struct node *) tail = &nodes[N];
static int count;

static void *works(void *own) {
  struct node *me = own;
  for (int turn = 0; turn < TURNS; turn++) {
    atomic_store(&me->taken, 1);
    struct node *before = atomic_exchange(&tail, me);
    WAIT(!atomic_load(&before->taken));
    count++;
    atomic_store(&me->taken, 0);
    me = before;
  }
  return NULL;
}

int main(void) {
  run_threads(N, works, nodes, sizeof nodes[0]);
  assert(count == N * TURNS);
}
