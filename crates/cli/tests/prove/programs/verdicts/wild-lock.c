/* A lock that lies nowhere, or in memory that was freed. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

int main(void) {
  pthread_mutex_t *lock = malloc(sizeof *lock);
  pthread_mutex_init(lock, NULL);
#if defined WILD
  pthread_mutex_lock((pthread_mutex_t *)64);
#elif defined FREED
  free(lock);
  pthread_mutex_lock(lock);
#else
  pthread_mutex_lock(lock);
  pthread_mutex_unlock(lock);
#endif
  assert(lock != NULL);
  return 0;
}
