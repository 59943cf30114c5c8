// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

namespace store {
void f(node *n) try {
  n->value /*@*/= 1;
} catch (...) {
  n->value = 2;
}
}  // namespace store
