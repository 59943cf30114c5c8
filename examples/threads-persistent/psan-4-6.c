/* Figure 4.6 of the thesis behind PSan: three executions, two power failures.
 *
 * The second execution finds x = 0: the first one had not come to x = 1. The third finds the first one's y = 1: it had. No single power
 * failure shows that; what the second execution has read must be remembered. (One thread: each execution has its own
 * intervals, whatever the number of threads.) */
#include <landfall.h>
#include <stdatomic.h>

static struct pool {
  _Alignas(64) atomic_int x;
  _Alignas(64) atomic_int y;
} *pool;

static int r, s;

int main(void) {
  pool = lf_pm(sizeof *pool);
  switch (lf_failures()) {
  case 0:
    atomic_store_explicit(&pool->x, 1, memory_order_release);  //~ lost
    atomic_store_explicit(&pool->y, 1, memory_order_release);  //~ kept
    lf_persist(&pool->y, sizeof pool->y);
    break;
  case 1:
    r = atomic_load_explicit(&pool->x, memory_order_relaxed);
    atomic_store_explicit(&pool->y, 2, memory_order_release);
    break;
  default:
    s = atomic_load_explicit(&pool->y, memory_order_relaxed);
  }
  return 0 * (r + s);
}
