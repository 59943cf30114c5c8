// A loop inside of a loop. A turn of the outer one is in vain and taken back: so the thread was never at the head of the inner one,
// and when it comes there again that is no turn of it. It was a deadlock that could not be shown again: "not deterministic".
// check: --checks crash -DNEVER
// exit: 100
// finds: deadlock livelock
// check: --checks crash
// exit: 0
#include <pthread.h>
#include <stdatomic.h>

static atomic_int first, second;

static void *waits(void *none) {
  int seen = 0;
restart:
  while (1) {
    if (seen == 2)
      break;
    seen = atomic_load(&first);
    seen = atomic_load(&second);
    if (seen == 2)
      break;
    if (seen == 2)
      continue;
    seen = atomic_load(&second);
    if (seen == 2)
      break;
    goto restart;
  }
  return none;
}

static void *tells(void *none) {
  atomic_store(&first, 2);
  atomic_store(&second, 1);
  atomic_store(&second, 1);
  atomic_store(&first, 1);
  atomic_store(&second, 1);
#ifndef NEVER
  atomic_store(&second, 2);
#endif
  return none;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], 0, waits, 0);
  pthread_create(&threads[1], 0, tells, 0);
  pthread_join(threads[0], 0);
  pthread_join(threads[1], 0);
}
