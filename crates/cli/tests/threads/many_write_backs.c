// More write-backs than a store buffer has room for wait for one fence, which waits in the buffer itself. It was an internal error.
// check: --checks crash -mclwb
// exit: 0
// check: --checks crash -mclwb -DFORGOTTEN
// exit: 100
// finds: assertion data
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#define LINES 1100

struct shared {
  _Alignas(64) long data;
  _Alignas(64) atomic_long done;
  _Alignas(64) char rest[LINES][64];
};
static struct shared *pm;
static atomic_int seen;

static void *first(void *none) {
  pm->data = 1;
#ifndef FORGOTTEN
  __builtin_ia32_clwb(&pm->data);
#endif
  __builtin_ia32_sfence();
  for (int i = 0; i < LINES; i++)
    __builtin_ia32_clwb(pm->rest[i]);
  __builtin_ia32_sfence();
  atomic_store_explicit(&pm->done, 1, memory_order_relaxed);
  return none;
}

static void *second(void *none) {
  seen = atomic_load(&pm->done);
  return none;
}

int main(void) {
  pm = lf_pm(sizeof *pm);
  if (lf_failures()) {
    if (pm->done)
      assert(pm->data);
    return 0;
  }
  pthread_t threads[2];
  pthread_create(&threads[0], 0, first, 0);
  pthread_create(&threads[1], 0, second, 0);
  pthread_join(threads[0], 0);
  pthread_join(threads[1], 0);
}
