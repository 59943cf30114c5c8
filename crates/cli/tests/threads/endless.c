// A thread that goes on and on and waits for nobody: it may only take long.
// check: --events 300000
// exit: 5
// limit: events
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
