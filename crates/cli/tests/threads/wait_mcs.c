// A queue lock (MCS). As many schedules as with its waits replaced by assumptions.
// check: --checks crash,data-races -DN=2
// exit: 0
// schedules: 6
// check: --checks crash,data-races -DN=2 -DASSUME
// exit: 0
// schedules: 6
// check: --checks crash,data-races -DN=3
// exit: 0
// schedules: 66
// check: --checks crash,data-races -DN=3 -DASSUME
// exit: 0
// schedules: 66
#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include "../support/threads.h"

struct node {
  _Atomic(struct node *) next;
  atomic_int waits;
};

static _Atomic(struct node *) tail;
static struct node nodes[N];
static int count;

static void *works(void *own) {
  struct node *me = own, *next, *last = own;
  atomic_store(&me->next, NULL);
  atomic_store(&me->waits, 1);
  struct node *before = atomic_exchange(&tail, me);
  if (before) {
    atomic_store(&before->next, me);
    WAIT(!atomic_load(&me->waits));
  }
  count++;
  next = atomic_load(&me->next);
  if (!next) {
    if (atomic_compare_exchange_strong(&tail, &last, NULL))
      return NULL;
    WAIT((next = atomic_load(&me->next)) != NULL);
  }
  atomic_store(&next->waits, 0);
  return NULL;
}

int main(void) {
  run_threads(N, works, nodes, sizeof nodes[0]);
  assert(count == N);
}
