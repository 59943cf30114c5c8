// What is not for threads yet is refused.
// check: --tear
// exit: 2
// says: --tear is not for such programs yet
#include <landfall.h>
#include <pthread.h>
static long *p;
static void *set(void *unused) {
  *p = 1;
  return unused;
}
int main(void) {
  p = lf_pm(sizeof *p);
  pthread_t t;
  pthread_create(&t, 0, set, 0);
  pthread_join(t, 0);
  return 0;
}
