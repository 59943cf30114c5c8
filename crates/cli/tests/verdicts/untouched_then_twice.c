// The first run does nothing; what the recovery stores is cut by the second power failure.
// check: --checks crash --failures 2
// exit: 100
// finds: assertion `r->a == 1` is false
// check: --checks crash --failures 2 -DTHREAD
// exit: 100
// finds: assertion `r->a == 1` is false
// check: --checks crash --failures 1
// exit: 0
// check: --checks crash --failures 2 -DORDERED
// exit: 0
// check: --checks crash --failures 2 -DORDERED -DTHREAD
// exit: 0
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
struct record { long a; char pad[56]; long v; };
static long d;
static void *work(void *_) { d = 1; return _; }
int main(void) {
  struct record *r = lf_pm(sizeof *r);
  int failures = lf_failures();
  if (failures == 0) {
#ifdef THREAD
    pthread_t t;
    pthread_create(&t, 0, work, 0);
    pthread_join(t, 0);
#endif
    return 0;
  }
  if (failures == 1) {
    r->a = 1;
#ifdef ORDERED
    lf_persist(&r->a, 8);
#endif
    r->v = 1;
    lf_persist(r, sizeof *r);
    return 0;
  }
  if (r->v) assert(r->a == 1);
  return 0;
}
