/* What a thread leaves with is what who joins it gets. */
#include <assert.h>
#include <pthread.h>

static void *work(void *which) {
  if (which) pthread_exit((void *)7);
  return (void *)3;
}

int main(void) {
  pthread_t other[2];
  void *result[2];
  pthread_create(&other[0], NULL, work, NULL);
  pthread_create(&other[1], NULL, work, &other);
  pthread_join(other[0], &result[0]);
  pthread_join(other[1], &result[1]);
  assert((long)result[0] == 3 && (long)result[1] == EXPECTED);
  return 0;
}
