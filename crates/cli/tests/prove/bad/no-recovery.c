#include <landfall.h>
#include <pthread.h>
static long *p;
static void *writes(void *argument) {
  *p = 1;
  return argument;
}
int main(void) {
  p = lf_pm(sizeof *p);
  pthread_t thread;
  pthread_create(&thread, 0, writes, 0);
  pthread_join(thread, 0);
  return 0;
}
