// What a recovery stores is judged as well, if the power may fail once more: here it says "done" before what it did is durable.
// check:
// exit: 0
// check: --failures 2
// exit: 100
// finds: robustness recovery may read a store without an earlier one
// check: --failures 2 --model sc
// exit: 100
// finds: robustness recovery may read a store without an earlier one
// check: --failures 2 -DPLAIN --checks races
// exit: 100
// finds: persistency-race
// check: --failures 2 -DFLUSHED
// exit: 0
// check: --failures 3 -DFLUSHED --model sc
// exit: 0
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#ifdef PLAIN
typedef long word;
#else
typedef _Atomic long word;
#endif
struct pm {
  _Alignas(64) word asked;
  _Alignas(64) word answer;
  _Alignas(64) word done;
} *p;
static void set(word *at, long value) {
#ifdef PLAIN
  *at = value;
#else
  atomic_store_explicit(at, value, memory_order_release);
#endif
}
static void *ask(void *value) {
  set(&p->asked, (long)value);
  lf_persist((void *)&p->asked, 8);
  return 0;
}
int main(void) {
  p = lf_pm(sizeof *p);
  if (lf_failures()) {
    long seen = p->answer;
    if (p->done) return (int)(seen & 0);
    if (p->asked) {
      set(&p->answer, p->asked + 40);
#ifdef FLUSHED
      lf_persist((void *)&p->answer, 8);
#endif
      set(&p->done, 1);
      lf_persist((void *)&p->done, 8);
    }
    return 0;
  }
  pthread_t a, b;
  pthread_create(&a, 0, ask, (void *)1);
  pthread_create(&b, 0, ask, (void *)2);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
