// The child may run before its parent goes on.
// check:
// exit: 100
// finds: assertion `x == 2` is false
// finds: data-race
#include <assert.h>
#include <pthread.h>
static void *child(void *x) {
  ++*(int *)x;
  return 0;
}
int main(void) {
  int x = 0;
  pthread_t thread;
  pthread_create(&thread, 0, child, &x);
  x++;
  pthread_join(thread, 0);
  assert(x == 2);
  return 0;
}
