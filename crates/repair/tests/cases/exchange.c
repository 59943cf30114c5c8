// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

void f(struct node *n) {
  __atomic_exchange_n(/*@*/&n->value, 1, __ATOMIC_SEQ_CST);
  __atomic_store_n(&n->count, 1, __ATOMIC_RELEASE);
}
