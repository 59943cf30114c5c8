// Recovery finishes what a thread began: it adds the amount and says that it has done so. If the power fails again in between, a
// recovery that did not make the sum durable first, or that adds twice, is wrong.
// also: --equivalence reads
// check: --checks crash
// exit: 0
// check: --failures 2 --checks crash
// exit: 100
// finds: assertion `a->sum <= 5` is false
// check: --failures 2 -DONE_THREAD --checks crash
// exit: 100
// finds: assertion `a->sum <= 5` is false
// check: --failures 3 -DIDEMPOTENT --checks crash
// exit: 0
// check: --failures 2 -DIDEMPOTENT -DONE_THREAD --checks crash
// exit: 0
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdint.h>
struct account {
  uint64_t before, sum;
  char other_line[48];
  uint64_t pending;
} *a;

static void *pay(void *unused) {
  a->before = a->sum;
  lf_persist(&a->before, sizeof a->before);
  a->pending = 5;
  lf_persist(&a->pending, sizeof a->pending);
  return unused;
}

static void recover(void) {
  if (a->pending) {
#ifdef IDEMPOTENT
    a->sum = a->before + a->pending;
#else
    a->sum += a->pending;
#endif
    lf_persist(&a->sum, sizeof a->sum);
    a->pending = 0;
    lf_persist(&a->pending, sizeof a->pending);
  }
  assert(a->sum <= 5);
}

int main(void) {
  a = lf_pm(sizeof *a);
  if (lf_failures() > 0) {
    recover();
    return 0;
  }
#ifdef ONE_THREAD
  pay(0);
#else
  pthread_t t;
  pthread_create(&t, 0, pay, 0);
  pthread_join(t, 0);
#endif
  return 0;
}
