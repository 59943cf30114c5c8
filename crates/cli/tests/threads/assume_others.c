// What others do until a thread reaches an assumption that does not hold is the program's doing; what only they would do after it
// is nobody's: not a deadlock, and not waiting for ever.
// check: -DFAILS
// exit: 100
// finds: assertion `y == 0` is false
// not: deadlock
// check: -DWAITS
// exit: 0
// schedules: 0
// check: -DSPINS
// exit: 0
// schedules: 0
// not: hang
// check: -DRACES
// exit: 100
// finds: data-race
// schedules: 0
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, y, never;
static int plain;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *other(void *_) {
#ifdef FAILS
  x = 1;
  assert(y == 0);
#elif defined(WAITS)
  pthread_mutex_lock(&m);
#elif defined(SPINS)
  while (!never)
    ;
#else
  plain = 1;
#endif
  return 0;
}
int main() {
  pthread_t p;
#ifdef WAITS
  pthread_mutex_lock(&m);
#endif
  pthread_create(&p, 0, other, 0);
  y = 1;
#ifdef RACES
  plain = 2;
#endif
  lf_assume(x == 7);
  never = 1;
  pthread_join(p, 0);
  return 0;
}
