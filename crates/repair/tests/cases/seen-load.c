// seen
#include <landfall.h>
#include <stdatomic.h>

struct node {
  _Alignas(64) atomic_int next;
  int value;
};

void f(struct node *n, struct node *mine) {
  int next = /*@*/atomic_load(&n->next);
  atomic_store(&mine->next, next);
  lf_persist(&mine->next, sizeof mine->next);
}
