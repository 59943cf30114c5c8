/* BROKEN: the last node's link is looked at and then stored to.
 *
 * Missing: a compare-and-swap. Two threads can both find no link there; the node of the first one is lost. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int next[4];  /* of each node; 0 is none. Node 1 is the first dummy. */
static atomic_int head = 1, tail = 1;

static void enqueue(int node) {
  for (;;) {
    int last = atomic_load(&tail);
    int after = atomic_load(&next[last]);
    if (after != 0) {
      /* Somebody else has not moved the tail yet: help. */
      atomic_compare_exchange_strong(&tail, &last, after);
      continue;
    }
    {
      atomic_store(&next[last], node);
      atomic_compare_exchange_strong(&tail, &last, node);
      return;
    }
  }
}

static int dequeue(void) {
  for (;;) {
    int first = atomic_load(&head);
    int last = atomic_load(&tail);
    int after = atomic_load(&next[first]);
    if (after == 0)
      return 0;
    if (first == last) {
      atomic_compare_exchange_strong(&tail, &last, after);
      continue;
    }
    if (atomic_compare_exchange_strong(&head, &first, after))
      return after;
  }
}

static void *enqueue_3(void *unused) {
  enqueue(3);
  return unused;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, enqueue_3, NULL);
  enqueue(2);
  pthread_join(other, NULL);
  int a = dequeue(), b = dequeue();
  assert(a + b == 2 + 3);  //~ fails
  return 0;
}
