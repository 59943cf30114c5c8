// Only in some schedules does anybody ask for persistent memory, be they the first or not: power failures are searched.
// check: --checks crash --recover-schedules -DSEEN=ready
// exit: 100
// finds: assertion `cell[8] == 0 || cell[0] == 1` is false
// check: --checks crash --recover-schedules -DSEEN=!ready
// exit: 100
// finds: assertion `cell[8] == 0 || cell[0] == 1` is false
// check: --checks crash --recover-schedules -DSEEN=ready -DORDERED
// exit: 0
// check: --checks crash --recover-schedules -DSEEN=!ready -DORDERED
// exit: 0
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int ready;
static void *work(void *_) { ready = 1; return _; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, work, 0);
  if (SEEN) {
    long *cell = lf_pm(192);
    if (lf_failures()) {
      assert(cell[8] == 0 || cell[0] == 1);
    } else {
      cell[0] = 1;
#ifdef ORDERED
      lf_persist(cell, 8);
#endif
      cell[8] = 1;
      lf_persist(cell + 8, 8);
    }
  }
  pthread_join(t, 0);
  return 0;
}
