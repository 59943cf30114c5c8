// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

void f(struct node *n, unsigned i) {
  n->data[i % 8] /*@*/= i;
  lf_persist(n, sizeof *n);
}
