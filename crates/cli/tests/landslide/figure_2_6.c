// A race that a lock seems to order, and one that a flag does order.
// check: -DUNRELATED
// exit: 100
// finds: data-race `x`
// check:
// exit: 0
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int x, y;
static void *first(void *unused) {
  x++;
  pthread_mutex_lock(&mutex);
#ifndef UNRELATED
  y = 1;
#endif
  pthread_mutex_unlock(&mutex);
  return unused;
}
static void *second(void *unused) {
  pthread_mutex_lock(&mutex);
  int seen = y;
  pthread_mutex_unlock(&mutex);
#ifdef UNRELATED
  seen = 1;
#endif
  if (seen)
    x++;
  return unused;
}
int main(void) {
  pthread_t one, other;
  pthread_create(&one, 0, first, 0);
  pthread_create(&other, 0, second, 0);
  pthread_join(one, 0);
  pthread_join(other, 0);
  return 0;
}
