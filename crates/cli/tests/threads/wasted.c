// Flushes and fences that do nothing are found under both models.
// check: --fail-on perf
// exit: 100
// finds: redundant-fence this fence does nothing: there is no flush to wait for
// finds: redundant-flush this flush does nothing: nothing was stored to the line since it was flushed
// check: --fail-on perf --model sc
// exit: 100
// finds: redundant-fence this fence does nothing: there is no flush to wait for
// finds: redundant-flush this flush does nothing: nothing was stored to the line since it was flushed
// check: --fail-on perf -DNEEDED
// exit: 0
// check: --fail-on perf -DNEEDED --model sc
// exit: 0
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
static struct pm {
  _Alignas(64) _Atomic long value[2][8];
} *p;
static void *set(void *number) {
  _Atomic long *mine = p->value[(long)number];
  atomic_store_explicit(mine, 1, memory_order_release);
  lf_flush((void *)mine, 8);
  lf_fence();
#ifndef NEEDED
  lf_flush((void *)mine, 8);
  lf_fence();
  lf_fence();
#endif
  return 0;
}
int main(void) {
  p = lf_pm(sizeof *p);
  if (lf_failures()) return p->value[0][0] == 2 || p->value[1][0] == 2;
  pthread_t a, b;
  pthread_create(&a, 0, set, (void *)0);
  pthread_create(&b, 0, set, (void *)1);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
