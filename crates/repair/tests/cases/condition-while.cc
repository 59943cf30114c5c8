// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

int f(node *n) {
  while (n->count/*@*/-- > 0)
    n->value = 0;
  return 0;
}
