// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

void f(struct node *n) {
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++)
      n[i].data[j] /*@*/= 1;
}
