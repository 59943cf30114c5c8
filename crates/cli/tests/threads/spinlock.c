// check:
// exit: 0
// check: -DFORGETS
// exit: 100
// finds: deadlock livelock
// check: -DBROKEN
// exit: 100
// finds: assertion `x == 2` is false
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
atomic_int taken;
int x;
static void lock(void) {
#ifdef BROKEN
  while (atomic_load(&taken))
    ;
  atomic_store(&taken, 1);
#else
  while (atomic_exchange(&taken, 1))
    ;
#endif
}
static void *increment(void *_) {
  lock();
  x = x + 1;
#ifndef FORGETS
  atomic_store_explicit(&taken, 0, memory_order_release);
#endif
  return 0;
}
int main() {
  pthread_t p, q;
  pthread_create(&p, 0, increment, 0);
  pthread_create(&q, 0, increment, 0);
  pthread_join(p, 0);
  pthread_join(q, 0);
  assert(x == 2);
  return 0;
}
