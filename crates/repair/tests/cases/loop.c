// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

void f(struct node *n) {
  for (uint64_t i = 0; i < 8; i++)
    n->data[i] /*@*/= i + 1;  // filled
  n->count /*@before*/= 8;
  lf_persist(n, sizeof *n);
}
