/* went on: no. What main does before it creates threads takes less time than putting it back. */
#include <landfall.h>
#include <pthread.h>

static long *pm;
static volatile long last;

static void *work(void *argument) {
  last = (long)argument;
  pm[8 * (long)argument] = 1;
  lf_persist(&pm[8 * (long)argument], 8);
  return 0;
}

int main(void) {
  pm = lf_pm(4096);
  pthread_t threads[2];
  for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, (void *)(i + 1));
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  return 0;
}
