// A broadcast wakes all who wait: one, or two.
// check: -DWAITERS=1
// exit: 0
// check: -DWAITERS=2
// exit: 0
// check: -DWAITERS=2 -DSIGNALS
// exit: 100
// finds: deadlock
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;
static void *waits(void *unused) {
  pthread_mutex_lock(&mutex);
  while (!ready)
    pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  return unused;
}
int main(void) {
  pthread_t threads[WAITERS];
  for (int i = 0; i < WAITERS; i++)
    pthread_create(&threads[i], 0, waits, 0);
  pthread_mutex_lock(&mutex);
  ready = 1;
#ifdef SIGNALS
  pthread_cond_signal(&changed);
#else
  pthread_cond_broadcast(&changed);
#endif
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < WAITERS; i++)
    pthread_join(threads[i], 0);
  return 0;
}
