/* BROKEN: the node is put at the head of the list first and connected to the rest afterwards.
 *
 * Missing: the order. Between the two stores the list consists of the new node alone; if the power fails there, all
 * older nodes are unreachable. Every flush is in place, and no flush can repair it. */
#include <assert.h>
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value; /* counts up from 1 towards the head */
  struct node *next;
};

static void push(struct node **head, uint64_t value) {
  struct node *node = lf_alloc(sizeof *node);
  struct node *rest = *head;
  node->value = value;
  lf_persist(node, sizeof *node);
  __atomic_store_n(head, node, __ATOMIC_RELEASE);  //~ last
  lf_persist(head, sizeof *head);
  node->next = rest;  //~ late
  lf_persist(node, sizeof *node);
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
  assert(intact(*head));  //~ fails
  uint64_t length = *head ? (*head)->value : 0;
  for (int i = 0; i < 3; i++)
    push(head, ++length);
  assert(intact(*head) && (*head)->value == length);
  return 0;
}
