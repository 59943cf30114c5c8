// A message in a non-temporal store: whoever is told of it may not find it, unless a fence orders the two.
// check:
// exit: 100
// finds: assertion `x == 1` is false
// note: the non-temporal store
// check: -DFENCE
// exit: 0
// check: -DFENCE --preempt everywhere
// exit: 0
// check: -DSAME_LINE
// exit: 0
// check: -DLOCKED
// exit: 0
// check: --model sc
// exit: 0
// check: --bound preemptions=0
// exit: 100
// finds: assertion `x == 1` is false
// check: --random 50
// exit: 100
// finds: assertion `x == 1` is false
#include <assert.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#ifdef SAME_LINE
static struct { _Alignas(64) long long x; _Atomic int y; } both;
#define x both.x
#define y both.y
#else
static _Alignas(64) long long x;
static _Alignas(64) _Atomic int y;
#endif
static void *writer(void *unused) {
  _mm_stream_si64(&x, 1);
#ifdef FENCE
  _mm_sfence();
#endif
#ifdef LOCKED
  atomic_fetch_add(&y, 1);
#else
  atomic_store_explicit(&y, 1, memory_order_release);
#endif
  return unused;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, writer, 0);
  if (atomic_load_explicit(&y, memory_order_acquire))
    assert(x == 1);
  pthread_join(t, 0);
  return x == 1 ? 0 : 1;
}
