// seen
#include <landfall.h>
#include <stdatomic.h>

struct node {
  _Alignas(64) atomic_int next;
  int value;
};

int f(struct node *n) {
  int none = 0;
  if (/*@*/atomic_compare_exchange_strong(&n->next, &none, 1)) {
    lf_persist(&n->next, sizeof n->next);
    return 1;
  }
  return none;
}
