// One thread stores, another sees it and says so, durably. Whoever speaks must first make durable what it has seen.
// check:
// exit: 100
// finds: assertion `p->data == 1` is false
// check: -DFLUSH
// exit: 100
// finds: assertion `p->data == 1` is false
// check: -DFLUSH --model sc
// exit: 100
// finds: assertion `p->data == 1` is false
// check: -DHELP
// exit: 0
// check: -DHELP --model sc
// exit: 0
// check: -DHELP --preempt everywhere
// exit: 0
// check: -DFLUSH --platform eadr
// exit: 0
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
struct pm {
  _Alignas(64) _Atomic long data;
  _Alignas(64) _Atomic long flag;
};
static struct pm *p;
static void *writer(void *_) {
  atomic_store_explicit(&p->data, 1, memory_order_release);
#ifdef FLUSH
  lf_persist((void *)&p->data, 8);
#endif
  return 0;
}
static void *speaker(void *_) {
  if (atomic_load_explicit(&p->data, memory_order_acquire) == 1) {
#ifdef HELP
    lf_persist((void *)&p->data, 8);
#endif
    atomic_store_explicit(&p->flag, 1, memory_order_release);
    lf_persist((void *)&p->flag, 8);
  }
  return 0;
}
int main(void) {
  p = lf_pm(sizeof *p);
  if (lf_failures()) {
    if (p->flag) assert(p->data == 1);
    return 0;
  }
  pthread_t a, b;
  pthread_create(&a, 0, writer, 0);
  pthread_create(&b, 0, speaker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
