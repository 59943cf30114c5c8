// also: --equivalence reads
// check:
// exit: 100
// finds: deadlock 2 threads wait for each other
// preemptions: 1
// note: thread 1 waits for `n`, which thread 2 holds
#include <pthread.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
int x;
static void *one(void *_) {
  pthread_mutex_lock(&m);
  pthread_mutex_lock(&n);
  x++;
  pthread_mutex_unlock(&n);
  pthread_mutex_unlock(&m);
  return 0;
}
static void *two(void *_) {
  pthread_mutex_lock(&n);
  pthread_mutex_lock(&m);
  x++;
  pthread_mutex_unlock(&m);
  pthread_mutex_unlock(&n);
  return 0;
}
int main() {
  pthread_t p, q;
  pthread_create(&p, 0, one, 0);
  pthread_create(&q, 0, two, 0);
  pthread_join(p, 0);
  pthread_join(q, 0);
  return 0;
}
