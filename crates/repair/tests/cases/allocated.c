// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

uint64_t *f(struct node *p) {
  uint64_t *b;
  b = &p->data[p->count/*@*/++];
  return b;
}
