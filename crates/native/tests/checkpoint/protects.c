/* went on: yes. But when a thread has protected persistent memory, which a checkpoint does not put back, that run and all later ones begin at main. */
#include <landfall.h>
#include <pthread.h>
#include <sys/mman.h>

static long *pm;
static volatile long last;
static long table[8000];

static void *work(void *argument) {
  last = (long)argument;
  pm[8 * (long)argument] = table[(long)argument];
  lf_persist(&pm[8 * (long)argument], 8);
  if ((long)argument == 2) mprotect(pm + 512, 4096, PROT_READ);
  return 0;
}

int main(void) {
  pm = lf_pm(8192);
  for (int i = 0; i < 8000; i++) table[i] = i;
  for (int i = 0; i < 200; i++) pm[512 + i] = i;
  pthread_t threads[2];
  for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, (void *)(i + 1));
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  return 0;
}
