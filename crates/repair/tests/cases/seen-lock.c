// seen
#include <landfall.h>
#include <stdatomic.h>

struct node {
  _Alignas(64) atomic_int next;
  int value;
};

void take(int *lock);

void f(struct node *mine, int *lock) {
  /*@*/take(lock);
  mine->value = 1;
  lf_persist(mine, sizeof *mine);
}
