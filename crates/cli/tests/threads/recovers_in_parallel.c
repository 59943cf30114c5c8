// Recovery repairs two counters with two threads; each adds one to a sum. That an addition gets lost takes one schedule of many.
// check: --checks crash
// exit: 5
// limit: recover-schedules
// check: --recover-schedules --checks crash
// exit: 100
// finds: assertion `p->sum == 2` is false
// check: --recover-schedules --checks crash --model sc
// exit: 100
// finds: assertion `p->sum == 2` is false
// check: --recover-schedules --checks crash -DATOMIC
// exit: 0
// check: --recover-schedules --checks crash -DALONE
// exit: 100
// finds: assertion `p->sum == 2` is false
// check: --recover-schedules --failures 2
// exit: 2
// says: leave out --failures
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
struct pool {
  uint64_t valid;
  char other_line[56];
  _Atomic uint64_t sum;
} *p;

static void *add(void *unused) {
#ifdef ATOMIC
  atomic_fetch_add(&p->sum, 1);
#else
  uint64_t seen = p->sum;
  p->sum = seen + 1;
#endif
  return unused;
}

static void *set(void *unused) {
  p->valid = 1;
  lf_persist(&p->valid, sizeof p->valid);
  return unused;
}

int main(void) {
  p = lf_pm(sizeof *p);
  pthread_t t;
  if (lf_failures() > 0) {
    if (!p->valid) return 0;
    p->sum = 0;
    pthread_create(&t, 0, add, 0);
    add(0);
    pthread_join(t, 0);
    assert(p->sum == 2);
    return 0;
  }
#ifdef ALONE
  set(0);
#else
  pthread_create(&t, 0, set, 0);
  pthread_join(t, 0);
#endif
  return 0;
}
