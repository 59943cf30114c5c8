// Which lock is taken depends on what another thread wrote.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static _Atomic int which;
static int counts[2];

static void *adds(void *u) {
  int mine = which;
#ifdef ALWAYS_THE_FIRST
  int lock = u ? mine : 0;
#else
  int lock = mine;
#endif
  pthread_mutex_lock(&locks[lock]);
  counts[mine]++;
  pthread_mutex_unlock(&locks[lock]);
  return u;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, adds, NULL);
  pthread_create(&b, NULL, adds, &which);
  which = 1;
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  assert(counts[0] + counts[1] == 2);
}
