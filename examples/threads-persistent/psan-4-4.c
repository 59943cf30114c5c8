/* Figure 4.4 of the thesis behind PSan: two threads that have nothing to do with each other. Recovery may find y without x,
 * whichever was stored first: robust. */
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static struct pool {
  _Alignas(64) atomic_int x;
  _Alignas(64) atomic_int y;
} *pool;

static void *second(void *unused) {
  atomic_store_explicit(&pool->y, 1, memory_order_release);
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
  atomic_store_explicit(&pool->x, 1, memory_order_release);
  lf_persist(&pool->x, sizeof(int));
  pthread_join(other, NULL);
  return 0;
}
