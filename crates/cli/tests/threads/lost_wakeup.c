// check: --checks crash
// exit: 100
// finds: deadlock
// note: waits for a signal of `c`
// check: -DRIGHT
// exit: 0
#include <pthread.h>
#include <stdatomic.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
atomic_int ready;
static void *waiter(void *_) {
#ifdef RIGHT
  pthread_mutex_lock(&m);
  while (!ready)
    pthread_cond_wait(&c, &m);
  pthread_mutex_unlock(&m);
#else
  if (!ready) {
    pthread_mutex_lock(&m);
    pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
  }
#endif
  return 0;
}
static void *signaller(void *_) {
  pthread_mutex_lock(&m);
  ready = 1;
  pthread_cond_signal(&c);
  pthread_mutex_unlock(&m);
  return 0;
}
int main() {
  pthread_t p, q;
  pthread_create(&p, 0, waiter, 0);
  pthread_create(&q, 0, signaller, 0);
  pthread_join(p, 0);
  pthread_join(q, 0);
  return 0;
}
