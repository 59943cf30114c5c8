// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

void f(uint64_t *out, struct node *n) {
  uint64_t i = 0;
  *out++ /*@*/= 1;
  n->data[i++] = 2;
}
