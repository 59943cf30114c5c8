// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

void f(struct node *n, int c) {
  if (c == 1) n->value = 1;
  else if (c == 2) n->value /*@*/= 2;
  else n->value = 3;
}
