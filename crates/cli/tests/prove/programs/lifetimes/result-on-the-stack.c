/* A thread returns the address of its own variable; or of one at file scope. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static int lasting;

static void *work(void *unused) {
  int *result = &lasting;
#ifdef OWN
  int own = 3;
  result = &own;
#endif
  *result = 3;
  (void)unused;
  return result;
}

int main(void) {
  pthread_t other;
  void *result;
  pthread_create(&other, NULL, work, NULL);
  pthread_join(other, &result);
  assert(*(int *)result == 3);
  return 0;
}
