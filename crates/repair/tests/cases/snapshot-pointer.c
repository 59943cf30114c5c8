// snapshot
#include "snapshot-pointer.h"

void first(struct node *other) {
  pmemobj_tx_add_range_direct(other, sizeof(*other));
  other->n = 1;
}

void second(struct node *node, struct node **root) {
  /*@*/node->n = 1;
  /*@*/node->items[0].key = 2;
  /*@*/*root = node;
}
