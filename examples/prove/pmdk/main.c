/* main: non-atomic stores to persistent pool. Two threads count in it, under a lock, and one looks at what the other did. */
#include "pmdk.h"

struct pool {
  LINE uint64_t total;
  LINE uint64_t seen;
};

static struct pool *pool;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *adds(void *argument) {
  pthread_mutex_lock(&lock);
  pool->total += 5; //~ lost
  DURABLE(pool->total);
  pthread_mutex_unlock(&lock);
  return argument;
}

static void *looks(void *argument) {
  pthread_mutex_lock(&lock);
  pool->seen = pool->total + 1; //~ kept
  DURABLE(pool->seen);
  pthread_mutex_unlock(&lock);
  return argument;
}

int main(void) {
  pool = lf_pm(sizeof *pool);
  if (lf_failures() > 0) {
    SEE(pool->total);
    SEE(pool->seen);
    return 0;
  }
  pthread_t a, b;
  pthread_create(&a, NULL, adds, NULL);
  pthread_create(&b, NULL, looks, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
