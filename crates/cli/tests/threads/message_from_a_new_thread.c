// The first thing that a new thread does is to store, plainly, and then to say so: nothing races.
// also: --equivalence reads
// check:
// exit: 0
// check: --preempt everywhere
// exit: 0
// check: --model sc
// exit: 0
// check: -DTOO_EARLY
// exit: 100
// finds: data-race on `data`
#include <pthread.h>
#include <stdatomic.h>
static int data;
static _Atomic int ready;
static void *writer(void *unused) {
#ifdef TOO_EARLY
  atomic_store_explicit(&ready, 1, memory_order_release);
  data = 1;
#else
  data = 1;
  atomic_store_explicit(&ready, 1, memory_order_release);
#endif
  return unused;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, writer, 0);
  int seen = atomic_load_explicit(&ready, memory_order_acquire) ? data : 0;
  pthread_join(t, 0);
  return seen & 2;
}
