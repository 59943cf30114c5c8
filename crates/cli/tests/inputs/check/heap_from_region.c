/* The way into the heap is a pointer in the region: recovery follows it before it allocates anything. */
#include <landfall.h>

struct node {
  long value;
};

int main(void) {
  struct node **head = lf_pm(sizeof *head);
  if (*head)
    return (*head)->value != 7;
  struct node *node = lf_alloc(sizeof *node);
  node->value = 7;
  lf_persist(node, sizeof *node);
  *head = node;
  lf_persist(head, sizeof *head);
  return 0;
}
