// Two threads push onto a stack in persistent memory, each node made durable before the head leads to it; or not.
// check:
// exit: 0
// check: -DFORGETS
// exit: 100
// finds: assertion `n->value != 0` is false
// check: -DFORGETS --bound preemptions=1
// exit: 100
// finds: assertion `n->value != 0` is false
// check: --bound preemptions=0
// exit: 5
// limit: bound
// check: -DFORGETS --random 50
// exit: 100
// finds: assertion `n->value != 0` is false
// check: --random 5
// exit: 5
// limit: random
// check: --order preempt-first
// exit: 0
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
struct node {
  _Atomic long value;
  struct node *_Atomic next;
};
struct pm {
  _Alignas(64) struct node *_Atomic head;
};
static struct pm *p;
static void *push(void *value) {
  struct node *n = lf_alloc(sizeof *n);
  atomic_store_explicit(&n->value, (intptr_t)value, memory_order_release);
  struct node *top = atomic_load_explicit(&p->head, memory_order_acquire);
  do {
    atomic_store_explicit(&n->next, top, memory_order_release);
#ifndef FORGETS
    lf_persist(n, sizeof *n);
#endif
  } while (!atomic_compare_exchange_strong(&p->head, &top, n));
  lf_persist((void *)&p->head, 8);
  return 0;
}
int main(void) {
  p = lf_pm(sizeof *p);
  if (lf_failures()) {
    for (struct node *n = p->head; n; n = n->next) assert(n->value != 0);
    return 0;
  }
  pthread_t a, b;
  pthread_create(&a, 0, push, (void *)1);
  pthread_create(&b, 0, push, (void *)2);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
