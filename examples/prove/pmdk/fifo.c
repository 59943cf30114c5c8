/* fifo: non-atomic stores to linked list. */
#include "pmdk.h"

struct node {
  LINE uint64_t data;
  struct node *next;
};

struct list {
  LINE struct node *head;
  LINE struct node *tail;
};

static void push(struct list *list, uint64_t data) {
  struct node *node = lf_alloc(sizeof *node);
  node->data = data;
  node->next = NULL;
  lf_persist(node, sizeof *node);
  if (!list->tail) {
    list->head = node; //~ lost
    DURABLE(list->head);
  } else {
    list->tail->next = node;
    DURABLE(list->tail->next);
  }
  list->tail = node; //~ kept
  DURABLE(list->tail);
  lf_persist(list, sizeof *list);
}

int main(void) {
  struct list *list = (struct list *)lf_pm(sizeof *list);
  if (lf_failures() > 0) {
    SEE(list->head);
    SEE(list->tail);
    return 0;
  }
  push(list, 1);
  push(list, 2);
  return 0;
}
