// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

void f(uint64_t *out, int n) {
  int i;
  for (i = 0; i < n; i++) {
    out[i] /*@*/= i;
  }
}
