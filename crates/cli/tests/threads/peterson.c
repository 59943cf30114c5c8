// check: --model tso
// exit: 100
// finds: assertion `n == 0` is false
// preemptions: 1
// check: --model sc
// exit: 0
// check: -DFENCE
// exit: 0
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#ifdef FENCE
#define fence() atomic_thread_fence(memory_order_seq_cst)
#else
#define fence()
#endif
#define store(x, v) atomic_store_explicit(&(x), v, memory_order_release)
#define load(x) atomic_load_explicit(&(x), memory_order_acquire)
atomic_int want[2], turn, inside;
static void *enter(void *me) {
  int i = (intptr_t)me;
  store(want[i], 1);
  store(turn, 1 - i);
  fence();
  while (load(want[1 - i]) && load(turn) == 1 - i)
    ;
  int n = atomic_fetch_add(&inside, 1);
  assert(n == 0);
  atomic_fetch_sub(&inside, 1);
  store(want[i], 0);
  return 0;
}
int main() {
  pthread_t p, q;
  pthread_create(&p, 0, enter, (void *)0);
  pthread_create(&q, 0, enter, (void *)1);
  pthread_join(p, 0);
  pthread_join(q, 0);
  return 0;
}
