// A thread that waits stores what is there already, each time round: it changes nothing, whether those stores wait behind another one in its
// store buffer or not.
// check: --checks crash
// exit: 0
// check: --checks crash --order preempt-first --runs 100
// exit: 0
// check: --checks crash --model sc
// exit: 0
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, flag;
static volatile int turns;

static void *waits(void *none) {
  atomic_store_explicit(&x, 1, memory_order_relaxed);
  while (!atomic_load_explicit(&flag, memory_order_relaxed))
    turns = 0;
  return none;
}

static void *tells(void *none) {
  while (!atomic_load_explicit(&x, memory_order_relaxed))
    ;
  atomic_store_explicit(&flag, 1, memory_order_relaxed);
  return none;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], 0, waits, 0);
  pthread_create(&threads[1], 0, tells, 0);
  pthread_join(threads[0], 0);
  pthread_join(threads[1], 0);
}
