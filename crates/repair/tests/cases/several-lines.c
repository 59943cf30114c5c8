// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

void f(struct node *n, uint64_t a, uint64_t b) {
  n->data[3] /*@*/= a +
               b *
                   2;
  /* about the count */
  n->count = 2;
}
