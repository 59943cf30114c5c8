/* went on: no. The program asks for any value before it creates threads: whoever looks for values hears of it in every run. */
#include <landfall.h>
#include <pthread.h>

static long *pm;
static volatile long last;
static long table[8000];

static void *work(void *argument) {
  last = (long)argument;
  pm[8 * (long)argument] = table[(long)argument];
  lf_persist(&pm[8 * (long)argument], 8);
  return 0;
}

int main(void) {
  pm = lf_pm(4096);
  long any = lf_nondet() & 1;
  for (int i = 0; i < 8000; i++) table[i] = i + any;
  pthread_t threads[2];
  for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, (void *)(i + 1));
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  return 0;
}
