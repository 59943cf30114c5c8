// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

#define SET(node, member, to) ((node)->member = (to))
void f(struct node *n) {
  /*@*/SET(n, value, 1);
  n->next = 0;
}
