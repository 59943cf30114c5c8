// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

#define BOTH(n, v) do { (n)->value = (v); (n)->count = (v); } while (0)
void f(struct node *n) {
  /*@*/BOTH(n, 1);
}
