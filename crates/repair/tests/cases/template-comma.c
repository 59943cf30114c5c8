// durable template=my_persist({size}, {addr})
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

void my_persist(size_t n, const void *p);
void f(struct node *n) {
  if (n->value /*@*/+= 1)
    n->count = 1;
}
