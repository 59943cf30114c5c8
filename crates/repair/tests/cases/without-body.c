// without flush
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

void f(struct node *n) {
  if (n->value)
    /*@*/lf_flush(n, sizeof *n);
  lf_fence();
}
