// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

void f(struct node *n) {
  for (n->value /*@*/= 0; n->value < 8; n->value++)
    n->data[n->value] = 1;
}
