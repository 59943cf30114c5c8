// Destructors of thread-specific data run in the thread, and others see what they did only after a join.
// check:
// exit: 0
// check: -DBROKEN
// exit: 100
// finds: data-race
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_key_t key;
static int destroyed;

static void destroy(void *value) {
  destroyed += *(int *)value;
}

static void *run(void *value) {
  pthread_setspecific(key, value);
  return NULL;
}

int main(void) {
  int one = 1;
  pthread_t other;
  pthread_key_create(&key, destroy);
  pthread_create(&other, NULL, run, &one);
#ifdef BROKEN
  int early = destroyed;
  (void)early;
#endif
  pthread_join(other, NULL);
  assert(destroyed == 1);
}
