/* Recovery follows a pointer into the heap before it has allocated anything. */
#include <assert.h>
#include <landfall.h>
#include <stdatomic.h>

struct node {
  long value;
};

int main(void) {
  struct node *_Atomic *head = lf_pm(sizeof *head);
  struct node *first = atomic_load(head);
  if (first) {
    assert(first->value == 7);
    return 0;
  }
  struct node *node = lf_alloc(sizeof *node);
  node->value = 7;
  lf_persist(node, sizeof *node);
  atomic_store_explicit(head, node, memory_order_release);
  lf_persist(head, sizeof *head);
  return 0;
}
