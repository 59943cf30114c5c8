// Two assertions on one line are two findings.
// check: --checks crash
// exit: 100
// finds: assertion `first == 0` is false
// preemptions: 0
// finds: assertion `second == 0` is false
// preemptions: 1
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y;

static void *both(void *arg) {
  x = 1;
  y = 1;
  return arg;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, both, 0);
  int first = x, second = y;
  assert(first == 0); assert(second == 0);
  pthread_join(thread, 0);
  return 0;
}
