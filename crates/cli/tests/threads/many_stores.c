// More stores than any processor has room for, between two accesses that others see: by then the first one has left the store buffer,
// whether the others, which nobody else sees, waited behind it or not. Store buffering does not show.
// check: --checks crash
// exit: 0
// check: --checks crash --preempt everywhere -DSTORES=20
// exit: 100
// finds: assertion seen
// check: --checks crash -DSTORES=1000
// exit: 100
// finds: assertion seen
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#ifndef STORES
#define STORES 1100
#endif
static atomic_int x, y, other;
static int seen[2];
static volatile int own[2][16];

static void fill(int of) {
  for (int i = 0; i < STORES; i++)
    own[of][i % 16] = i;
}

static void *first(void *none) {
  atomic_store_explicit(&x, 1, memory_order_relaxed);
  atomic_load_explicit(&other, memory_order_relaxed);
  fill(0);
  seen[0] = atomic_load_explicit(&y, memory_order_relaxed);
  return none;
}

static void *second(void *none) {
  atomic_store_explicit(&y, 1, memory_order_relaxed);
  atomic_load_explicit(&other, memory_order_relaxed);
  fill(1);
  seen[1] = atomic_load_explicit(&x, memory_order_relaxed);
  return none;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], 0, first, 0);
  pthread_create(&threads[1], 0, second, 0);
  pthread_join(threads[0], 0);
  pthread_join(threads[1], 0);
  assert(seen[0] || seen[1]);
}
