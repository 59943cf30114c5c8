// check:
// exit: 100
// finds: assertion `x == 2` is false
// preemptions: 1
// finds: data-race data race on `x`
// check: --preempt everywhere --checks crash
// exit: 100
// finds: assertion `x == 2` is false
// check: --bound preemptions=1 --checks crash
// exit: 100
// finds: assertion `x == 2` is false
// check: --bound preemptions=0 --checks crash --model sc
// exit: 5
// check: --preempt sync --checks crash
// exit: 5
// check: --model sc --checks crash
// exit: 100
// finds: assertion `x == 2` is false
// preemptions: 1
// check: --order preempt-first
// exit: 100
// finds: assertion `x == 2` is false
// check: --order preempt-first -DLOCK
// exit: 0
// check: --random 200 --seed 7 --checks crash
// exit: 100
// finds: assertion `x == 2` is false
// check: --random 20 -DLOCK
// exit: 5
// limit: random
// check: -DLOCK
// exit: 0
#include <assert.h>
#include <pthread.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int x;
static void *increment(void *_) {
#ifdef LOCK
  pthread_mutex_lock(&m);
#endif
  x = x + 1;
#ifdef LOCK
  pthread_mutex_unlock(&m);
#endif
  return 0;
}
int main() {
  pthread_t p, q;
  pthread_create(&p, 0, increment, 0);
  pthread_create(&q, 0, increment, 0);
  pthread_join(p, 0);
  pthread_join(q, 0);
  assert(x == 2);
  return 0;
}
