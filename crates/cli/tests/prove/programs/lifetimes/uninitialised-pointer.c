/* A node is linked in before its own pointer is set; or after. Who follows the list may find what `malloc` left there. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct node {
  struct node *_Atomic next;
  long value;
};
static _Atomic(struct node *) first;

static void *walk(void *unused) {
  long sum = 0;
  struct node *at = atomic_load(&first);
  for (int steps = 0; at && steps < 2; steps++) {
    sum += at->value;
    at = atomic_load(&at->next);
  }
  assert(sum == 0 || sum == 2 || sum == 5);
  return unused;
}

static void push(long value) {
  struct node *node = malloc(sizeof *node);
  node->value = value;
  struct node *old = atomic_load(&first);
#ifdef EARLY
  atomic_store(&first, node);
  atomic_store(&node->next, old);
#else
  atomic_store(&node->next, old);
  atomic_store(&first, node);
#endif
}

int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, walk, NULL);
  push(2);
  push(3);
  pthread_join(other, NULL);
  return 0;
}
