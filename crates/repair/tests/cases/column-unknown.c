// durable line-only
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

void f(struct node *n, int c) {
  int old = 0;
  old = c, n->value /*@*/= old;
}
