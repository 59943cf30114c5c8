// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

void f(struct node *n) {
  uint64_t i = 0;
  n->data[i++] /*@*/= 2;
}
