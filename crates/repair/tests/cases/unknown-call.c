// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

void set(uint64_t *p, uint64_t v);
void f(struct node *n) {
  /*@*/set(&n->value, 1);
}
