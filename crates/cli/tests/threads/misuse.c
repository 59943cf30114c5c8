// Locks used against their rules.
// check: -DSTRANGER
// exit: 100
// finds: lock-misuse thread 1 unlocks `m`, which nobody holds
// note: thread 1 unlocks `m`, which main holds
// check: -DUNHELD
// exit: 100
// finds: lock-misuse thread 1 unlocks `m`, which nobody holds
// check: -DDESTROYED
// exit: 100
// finds: lock-misuse thread 1 destroys `m`, which main holds
// preemptions: 1
// check: -DDESTROYED --model sc --checks locks
// exit: 100
// finds: lock-misuse thread 1 destroys `m`, which main holds
// check: -DDESTROYED_AFTERWARDS
// exit: 0
// check: -DINVERTED
// exit: 100
// finds: lock-misuse `m` is locked while `n` is held
// check: -DTWICE
// exit: 100
// finds: deadlock a thread waits for a lock that it holds itself
// finds: lock-misuse thread 1 locks `m`, which it has held since
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static int x;
static void *other(void *unused) {
#if defined(STRANGER)
  pthread_mutex_unlock(&m);
#elif defined(UNHELD)
  pthread_mutex_unlock(&m);
#elif defined(DESTROYED)
  pthread_mutex_destroy(&m);
#elif defined(INVERTED)
  pthread_mutex_lock(&n);
  pthread_mutex_lock(&m);
  x++;
  pthread_mutex_unlock(&m);
  pthread_mutex_unlock(&n);
#elif defined(TWICE)
  pthread_mutex_lock(&m);
  pthread_mutex_lock(&m);
#endif
  return unused;
}
int main(void) {
  pthread_t t;
#if defined(INVERTED)
  pthread_mutex_lock(&m);
  pthread_mutex_lock(&n);
  x++;
  pthread_mutex_unlock(&n);
  pthread_mutex_unlock(&m);
#endif
  pthread_create(&t, 0, other, 0);
#if defined(STRANGER) || defined(DESTROYED) || defined(DESTROYED_AFTERWARDS)
  pthread_mutex_lock(&m);
  x++;
  pthread_mutex_unlock(&m);
#endif
  pthread_join(t, 0);
#ifdef DESTROYED_AFTERWARDS
  pthread_mutex_destroy(&m);
#endif
  return 0;
}
