// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

void f(struct node *n) {
#ifdef FAST
  n->value = 2;
#else
  n->value /*@*/= 1;
#endif
  n->count = 0;
}
