/* BROKEN: the reader builds on a value that is not durable yet.
 *
 * Missing: a flush in the reader, if a store is pending. The writer's own flush may come too late (PSan, figure 4.5). */
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static struct pool {
  _Alignas(64) atomic_int x;
  _Alignas(64) atomic_int y;  /* derived from x */
} *pool;

static atomic_int pending;  /* stores to x that may not be durable yet */

static void write_x(int value) {
  atomic_fetch_add(&pending, 1);
  atomic_store(&pool->x, value);  //~ lost
  lf_persist(&pool->x, sizeof pool->x);
  atomic_fetch_sub(&pending, 1);
}

static int read_x(void) {
  int value = atomic_load(&pool->x);  //~ read
  return value;
}

static void *derive(void *unused) {
  if (read_x()) {
    atomic_store(&pool->y, 1);  //~ kept
    lf_persist(&pool->y, sizeof pool->y);
  }
  return unused;
}

int main(void) {
  pool = lf_pm(sizeof *pool);
  assert(!pool->y || pool->x);  //~ fails
  if (lf_failures())
    return 0;
  pthread_t other;
  pthread_create(&other, NULL, derive, NULL);
  write_x(1);
  pthread_join(other, NULL);
  return 0;
}
