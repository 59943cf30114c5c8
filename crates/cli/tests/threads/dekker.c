// check: --model tso
// exit: 100
// finds: assertion `n == 0` is false
// preemptions: 2
// check: --model sc
// exit: 0
// check: --order preempt-first
// exit: 100
// finds: assertion `n == 0` is false
// preemptions: 2
// check: -DFENCE
// exit: 0
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#ifdef FENCE
#define fence() atomic_thread_fence(memory_order_seq_cst)
#else
#define fence()
#endif
#define store(x, v) atomic_store_explicit(&(x), v, memory_order_release)
#define load(x) atomic_load_explicit(&(x), memory_order_acquire)
atomic_int a, b, inside;
static void critical(void) {
  int n = atomic_fetch_add(&inside, 1);
  assert(n == 0);
  atomic_fetch_sub(&inside, 1);
}
static void *one(void *_) { store(a, 1); fence(); if (!load(b)) critical(); return 0; }
static void *two(void *_) { store(b, 1); fence(); if (!load(a)) critical(); return 0; }
int main() {
  pthread_t p, q;
  pthread_create(&p, 0, one, 0);
  pthread_create(&q, 0, two, 0);
  pthread_join(p, 0);
  pthread_join(q, 0);
  return 0;
}
