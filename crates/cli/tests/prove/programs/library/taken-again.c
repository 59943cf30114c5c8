// A mutex that its owner may take again, and one that it may not.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>

#ifdef PLAIN
static pthread_mutex_t at_once = PTHREAD_MUTEX_INITIALIZER;
#else
static pthread_mutex_t at_once = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
#endif
static pthread_mutex_t made;
static int count;

static void more(void) {
  pthread_mutex_lock(&at_once);
  count++;
  pthread_mutex_unlock(&at_once);
}

static void *twice(void *u) {
  pthread_mutex_lock(&made);
  pthread_mutex_lock(&made);
  pthread_mutex_lock(&at_once);
  more();
#ifdef GIVEN_BACK_TOO_EARLY
  pthread_mutex_unlock(&at_once);
  pthread_mutex_unlock(&made);
  pthread_mutex_unlock(&made);
  count++;
#else
  count++;
  pthread_mutex_unlock(&at_once);
  pthread_mutex_unlock(&made);
  pthread_mutex_unlock(&made);
#endif
  return u;
}

int main(void) {
  pthread_mutexattr_t again;
  pthread_mutexattr_init(&again);
  pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&made, &again);
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], NULL, twice, NULL);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  assert(count == 4);
}
