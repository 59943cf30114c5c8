/* A stack of items on the persistent heap, reached from a root.
 *
 * push: fill the node, make it durable, then swing the head to it with one 8-byte store. After a power failure the list
 * is the one before the push or the one after it; a node that nobody points to is only lost space. */
#include <assert.h>
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value; /* counts up from 1 towards the head */
  struct node *next;
};

static void push(struct node **head, uint64_t value) {
  struct node *node = lf_alloc(sizeof *node);
  *node = (struct node){.value = value, .next = *head};
  lf_persist(node, sizeof *node);
  __atomic_store_n(head, node, __ATOMIC_RELEASE);
  lf_persist(head, sizeof *head);
}

/* A list of n items holds n, n-1, ... 1. */
static int intact(const struct node *head) {
  uint64_t expected = head ? head->value : 0;
  if (head && !expected)
    return 0;
  for (const struct node *n = head; n; n = n->next)
    if (n->value != expected--)
      return 0;
  return expected == 0;
}

int main(void) {
  struct node **head = (struct node **)lf_root(0);
  assert(intact(*head));
  uint64_t length = *head ? (*head)->value : 0;
  for (int i = 0; i < 3; i++)
    push(head, ++length);
  assert(intact(*head) && (*head)->value == length);
  return 0;
}
