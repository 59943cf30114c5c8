// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

void f(node (&nodes)[4]) {
  for (auto &n : nodes)
    n.value /*@*/= 1;
}
