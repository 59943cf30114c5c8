/* A wait for a condition may end for no reason: what it waits for has to be looked at again. */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t set = PTHREAD_COND_INITIALIZER;
static int ready, value;

static void *produce(void *unused) {
  pthread_mutex_lock(&mutex);
  value = 5;
  ready = 1;
  pthread_cond_signal(&set);
  pthread_mutex_unlock(&mutex);
  return unused;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, produce, NULL);
  pthread_mutex_lock(&mutex);
#ifdef ONCE
  if (!ready) pthread_cond_wait(&set, &mutex);
#else
  while (!ready) pthread_cond_wait(&set, &mutex);
#endif
  assert(value == 5);
  pthread_mutex_unlock(&mutex);
  pthread_join(other, NULL);
  return 0;
}
