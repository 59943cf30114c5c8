#include <pthread.h>
void put(volatile long *at, long value);
static long x;
static void *other(void *unused) {
  put(&x, 1);
  return unused;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, other, 0);
  put(&x, 2);
  pthread_join(t, 0);
  return 0;
}
