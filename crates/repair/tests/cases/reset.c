// reset
#include <landfall.h>
#include <stdatomic.h>
struct lock { _Atomic long held; };
struct counter { struct lock lock; long value; };
static void take(struct lock *l) {
  while (/*@*/atomic_exchange(&l->held, 1))
    lf_yield();
}
static void add(struct counter *c) {
  /*@*/take(&c->lock);
  c->value++;
  atomic_store(&c->lock.held, 0);
}
int main(void) {
  struct counter *counter = lf_pm(sizeof *counter);
  /*@*/add(counter);
}
