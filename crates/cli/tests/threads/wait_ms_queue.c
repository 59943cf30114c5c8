// A queue of nodes with a first one that is empty (Michael and Scott). As many schedules as with its waits replaced by assumptions.
// check: --checks crash,data-races -DPUTS=1
// exit: 0
// schedules: 3
// check: --checks crash,data-races -DPUTS=1 -DASSUME
// exit: 0
// schedules: 3
// check: --checks crash,data-races -DPUTS=2
// exit: 0
// schedules: 60
// check: --checks crash,data-races -DPUTS=2 -DASSUME
// exit: 0
// schedules: 60
// check: --checks crash,data-races -DPUTS=3
// exit: 0
// schedules: 4320
// check: --checks crash,data-races -DPUTS=3 -DASSUME
// exit: 0
// schedules: 4320
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include "../support/threads.h"

struct node {
  struct node *_Atomic next;
  int value;
};

static struct node empty, nodes[PUTS];
static struct node *_Atomic head = &empty, *_Atomic tail = &empty;
static int sum;

/* One attempt each. */
static int put(struct node *node) {
  struct node *last = atomic_load(&tail), *next = atomic_load(&last->next);
  if (next) {
#ifndef ASSUME
    atomic_compare_exchange_strong(&tail, &last, next);
    return 0;
#else
    /* It may have to help more than one of the others. */
    do {
      lf_assume(atomic_compare_exchange_strong(&tail, &last, next));
      last = atomic_load(&tail);
      next = atomic_load(&last->next);
    } while (next);
#endif
  }
  if (!atomic_compare_exchange_strong(&last->next, &next, node))
    return 0;
  atomic_compare_exchange_strong(&tail, &last, node);
  return 1;
}

static int take(int *value) {
  struct node *first = atomic_load(&head), *last = atomic_load(&tail), *next = atomic_load(&first->next);
  if (!next)
    return 0;
  if (first == last)
    atomic_compare_exchange_strong(&tail, &last, next);
  *value = next->value;
  return atomic_compare_exchange_strong(&head, &first, next);
}

static void *puts_one(void *own) {
  struct node *node = own;
  node->value = (int)(node - nodes) + 1;
  WAIT(put(node));
  return NULL;
}

static void *takes_all(void *unused) {
  for (int i = 0; i < PUTS; i++) {
    int value;
    WAIT(take(&value));
    sum += value;
  }
  return unused;
}

int main(void) {
  pthread_t threads[PUTS + 1];
  for (int i = 0; i < PUTS; i++)
    pthread_create(&threads[i], 0, puts_one, &nodes[i]);
  pthread_create(&threads[PUTS], 0, takes_all, 0);
  for (int i = 0; i <= PUTS; i++)
    pthread_join(threads[i], 0);
  assert(sum == PUTS * (PUTS + 1) / 2);
}
