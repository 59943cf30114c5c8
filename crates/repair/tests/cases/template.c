// durable template=my_flush({addr}, {size}); my_fence()
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

void my_flush(const void *p, size_t n);
void my_fence(void);
void f(struct node *n) {
  n->value /*@*/= 1;
}
