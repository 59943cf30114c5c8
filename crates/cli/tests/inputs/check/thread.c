#include <landfall.h>
#include <pthread.h>

static void *nothing(void *p) { return p; }

int main(void) {
  long *p = lf_pm(64);
  *p = 1;
  pthread_t t;
  pthread_create(&t, 0, nothing, 0);
  return 0;
}
