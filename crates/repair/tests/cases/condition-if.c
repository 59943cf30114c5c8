// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

int g(void);
int f(struct node *n) {
  if ((n->value /*@*/= g()))
    return 1;
  return 0;
}
