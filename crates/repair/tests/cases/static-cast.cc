// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

void f(void *p) {
  static_cast<node *>(p)->value /*@*/= 1;
  reinterpret_cast<uint64_t *>(p)[1] = 2;
}
