// A thread that never ends and waits for nobody.
// check: --events 300000
// exit: 100
// finds: hang
#include <pthread.h>

static volatile int turns;

static void *work(void *unused) {
  for (;;)
    turns++;
  return unused;
}

int main(void) {
  pthread_t worker;
  pthread_create(&worker, NULL, work, NULL);
  pthread_join(worker, NULL);
}
