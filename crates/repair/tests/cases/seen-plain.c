// seen
#include <landfall.h>
#include <stdatomic.h>

struct node {
  _Alignas(64) atomic_int next;
  int value;
};

void f(struct node *n, struct node *mine) {
  int value = n[1]./*@*/value;
  mine->value = value;
  lf_persist(mine, sizeof *mine);
}
