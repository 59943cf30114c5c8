// Data goes past the caches, then a flag says so, durably: it needs its fence before the flag, wherever caches are persistent.
// check:
// exit: 100
// finds: assertion `p->data[0] == 1` is false
// check: --platform eadr
// exit: 100
// finds: assertion `p->data[0] == 1` is false
// check: -DFENCE
// exit: 0
// check: -DFENCE --platform eadr
// exit: 0
// check: -DFENCE --model sc
// exit: 0
// check: --model sc
// exit: 100
// finds: assertion `p->data[0] == 1` is false
// check: -DFENCE -DMANY
// exit: 0
// check: -DMANY
// exit: 100
// finds: assertion `p->data[0] == 1` is false
#include <assert.h>
#include <immintrin.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#ifdef MANY
enum { LINES = 40 };
#else
enum { LINES = 2 };
#endif
struct pm {
  _Alignas(64) long long data[8 * LINES];
  _Alignas(64) _Atomic long ready;
  _Alignas(64) _Atomic long seen;
};
static struct pm *p;
static void *writer(void *unused) {
  for (int i = 0; i < LINES; i++)
    _mm_stream_si64(&p->data[8 * i], 1);
#ifdef FENCE
  _mm_sfence();
#endif
  atomic_store_explicit(&p->ready, 1, memory_order_release);
  lf_persist(&p->ready, sizeof p->ready);
  return unused;
}
static void *reader(void *unused) {
  if (atomic_load_explicit(&p->ready, memory_order_acquire)) {
    lf_persist(&p->ready, sizeof p->ready);
    atomic_store_explicit(&p->seen, 1, memory_order_release);
    lf_persist(&p->seen, sizeof p->seen);
  }
  return unused;
}
int main(void) {
  p = lf_pm(sizeof *p);
  if (lf_failures()) {
    if (p->seen || p->ready) {
      assert(p->data[0] == 1);
      assert(p->data[8] == 1);
    }
    return 0;
  }
  pthread_t a, b;
  pthread_create(&a, 0, writer, 0);
  pthread_create(&b, 0, reader, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
