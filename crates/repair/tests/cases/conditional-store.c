// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

int g(void);
void f(struct node *n) {
  g() && (n->value /*@*/= 1);
}
