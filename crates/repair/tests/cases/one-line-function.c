// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

static void set(struct node *n, uint64_t v) { n->value /*@*/= v; }
