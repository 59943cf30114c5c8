/* Two threads store to one variable and load the other: on x86 both may load the old value, unless a fence is in between
 * (-DFENCED). The assertion is one without a power failure. */
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>

static _Atomic int x, y;
static int a, b;

static void *first(void *argument) {
  atomic_store_explicit(&x, 1, memory_order_release);
#ifdef FENCED
  atomic_thread_fence(memory_order_seq_cst);
#endif
  a = atomic_load_explicit(&y, memory_order_acquire);
  return argument;
}

static void *second(void *argument) {
  atomic_store_explicit(&y, 1, memory_order_release);
#ifdef FENCED
  atomic_thread_fence(memory_order_seq_cst);
#endif
  b = atomic_load_explicit(&x, memory_order_acquire);
  return argument;
}

int main(void) {
  if (lf_failures() > 0)
    return 0;
  pthread_t one, two;
  pthread_create(&one, NULL, first, NULL);
  pthread_create(&two, NULL, second, NULL);
  pthread_join(one, NULL);
  pthread_join(two, NULL);
  assert(a || b);
  return 0;
}
