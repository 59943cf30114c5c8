/* Figure 4.5 of the thesis behind PSan: a flush right after each store is not enough.
 *
 * The second thread may read x before the first one has flushed it, and persist y. Where the power fails then, recovery
 * finds y without x. The first thread has no place for a fix; the second one must flush x after it has read it. */
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static struct pool {
  _Alignas(64) atomic_int x;
  _Alignas(64) atomic_int y;
} *pool;

static void *second(void *unused) {
  int r1 = atomic_load_explicit(&pool->x, memory_order_acquire);  //~ observed
  atomic_store_explicit(&pool->y, r1, memory_order_release);  //~ kept
  lf_persist(&pool->y, sizeof(int));
  return unused;
}

int main(void) {
  pool = lf_pm(sizeof *pool);
  if (lf_failures()) {
    int x = atomic_load_explicit(&pool->x, memory_order_relaxed);
    int y = atomic_load_explicit(&pool->y, memory_order_relaxed);
    return 0 * (x + y);
  }
  pthread_t other;
  pthread_create(&other, NULL, second, NULL);
  atomic_store_explicit(&pool->x, 1, memory_order_release);  //~ lost
  lf_persist(&pool->x, sizeof(int));
  pthread_join(other, NULL);
  return 0;
}
