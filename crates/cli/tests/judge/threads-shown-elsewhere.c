// expect: clean
/* The second thread reads x, which may not be durable, and stores the same whatever it was: had it come first, recovery would
 * find just that. */
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static struct two {
  _Alignas(64) atomic_int x;
  _Alignas(64) atomic_int y;
} *two;

static atomic_int seen;

static void *work(void *unused) {
  seen = atomic_load_explicit(&two->x, memory_order_acquire);
  atomic_store_explicit(&two->y, 1, memory_order_release);
  lf_persist(&two->y, sizeof two->y);
  return unused;
}

int main(void) {
  two = lf_pm(sizeof *two);
  if (lf_failures())
    return two->x == 77 || two->y == 77;
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  atomic_store_explicit(&two->x, 1, memory_order_release);
  lf_persist(&two->x, sizeof two->x);
  pthread_join(thread, NULL);
  return 0;
}
