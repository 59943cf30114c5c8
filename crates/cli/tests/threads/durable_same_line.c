// Two threads store to one line: either store may come first, and the line keeps that order.
// check: --checks crash
// exit: 100
// finds: assertion !(z == 1 && x == 0)
// check: --checks crash -DOTHER
// exit: 100
// finds: assertion !(x == 4 && z == 0)
#include <assert.h>
#include <emmintrin.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>

static struct {
  _Alignas(64) _Atomic long x;
  _Atomic long y, z;
} *line;

static void *first(void *unused) {
  atomic_store_explicit(&line->z, 1, memory_order_relaxed);
  _mm_sfence();
  return unused;
}

static void *second(void *unused) {
  _mm_clflush(&line->y);
  atomic_store_explicit(&line->x, 4, memory_order_relaxed);
  return unused;
}

int main(void) {
  line = lf_pm(sizeof *line);
  if (lf_failures() > 0) {
    long x = line->x, z = line->z;
#ifdef OTHER
    assert(!(x == 4 && z == 0));
#else
    assert(!(z == 1 && x == 0));
#endif
    return 0;
  }
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, first, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
}
