// A stack of nodes (Treiber): a push that fails leaves what it found in its node, and the next attempt stores there again. As many
// schedules as with its waits replaced by assumptions.
// check: --checks crash,data-races -DPUSHES=2
// exit: 0
// schedules: 6
// check: --checks crash,data-races -DPUSHES=2 -DASSUME
// exit: 0
// schedules: 6
// check: --checks crash,data-races -DPUSHES=3
// exit: 0
// schedules: 78
// check: --checks crash,data-races -DPUSHES=3 -DASSUME
// exit: 0
// schedules: 78
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include "../support/threads.h"

struct node {
  struct node *below;
  int value;
};

static struct node nodes[PUSHES];
static struct node *_Atomic top;
static int sum;

/* One attempt each. */
static int push(struct node *node) {
  struct node *found = atomic_load(&top);
  node->below = found;
  return atomic_compare_exchange_strong(&top, &found, node);
}

static int pop(struct node **to) {
  struct node *found = atomic_load(&top);
  if (!found)
    return 0;
  *to = found;
  return atomic_compare_exchange_strong(&top, &found, found->below);
}

static void *pushes(void *own) {
  struct node *node = own;
  node->value = (int)(node - nodes) + 1;
  WAIT(push(node));
  return NULL;
}

static void *pops(void *unused) {
  for (int i = 0; i < PUSHES; i++) {
    struct node *got;
    WAIT(pop(&got));
    sum += got->value;
  }
  return unused;
}

int main(void) {
  pthread_t threads[PUSHES + 1];
  for (int i = 0; i < PUSHES; i++)
    pthread_create(&threads[i], 0, pushes, &nodes[i]);
  pthread_create(&threads[PUSHES], 0, pops, 0);
  for (int i = 0; i <= PUSHES; i++)
    pthread_join(threads[i], 0);
  assert(sum == PUSHES * (PUSHES + 1) / 2);
}
