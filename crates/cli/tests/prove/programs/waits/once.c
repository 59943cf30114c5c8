/* One of two threads prepares, the other waits for that. -DAGAIN forgets to say it is once. */
#include <assert.h>
#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int prepared;
static _Thread_local int mine = 3;

static void prepare(void) { prepared++; }

static void *work(void *unused) {
#ifdef AGAIN
  prepare();
#else
  pthread_once(&once, prepare);
#endif
  assert(prepared == 1);
  assert(mine == 3 && pthread_equal(pthread_self(), pthread_self()));
  mine = 4;
  return unused;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, work, NULL);
  work(NULL);
  pthread_join(other, NULL);
  assert(mine == 4);
  (void)once;
  return 0;
}
