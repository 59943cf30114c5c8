// Non-temporal stores among stores that nobody else looks at, before a thread is created, and more of them than wait in a buffer.
// check: --checks locks
// exit: 0
// check: --checks locks --order preempt-first
// exit: 0
// check: --checks locks -DFENCED
// exit: 0
// check: --checks locks -DFENCED --preempt everywhere
// exit: 0
// check: --checks locks -DMANY
// exit: 0
// check: --checks locks -DMANY -DLOOKED
// exit: 5
// limit: non-temporal
// check: --checks locks -DLOOP
// exit: 0
#include <assert.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
static struct { _Alignas(64) _Atomic long v; } a, c;
static _Alignas(64) long b;
static _Alignas(64) long d;
static _Alignas(64) long long buffer[1100];
#define LOAD(x) atomic_load_explicit(&(x), memory_order_relaxed)
#define STREAM(at, value) _mm_stream_si64((long long *)(at), value)
static void *writer(void *unused) {
#ifdef MANY
  for (int i = 0; i < 1100; i++)
    STREAM(&buffer[i], 1);
  _mm_sfence();
#ifdef LOOKED
  atomic_store_explicit(&a.v, 1, memory_order_release);
#endif
#elif defined LOOP
  for (int i = 0; i < 400; i++) {
    STREAM(&buffer[0], i);
    STREAM(&buffer[8], i);
    _mm_sfence();
  }
#elif !defined FENCED
  atomic_store_explicit(&a.v, 1, memory_order_relaxed);
  b = 1;
  STREAM(&c.v, 1);
  d = 1;
#endif
  (void)buffer;
  return unused;
}
static void *reader(void *unused) {
#ifdef FENCED
  assert(LOAD(c.v) == 1);
#else
  (void)LOAD(c.v);
#endif
#ifdef LOOKED
  if (atomic_load_explicit(&a.v, memory_order_acquire))
    for (int i = 0; i < 320; i += 8)
      assert(buffer[i] == 1);
#else
  (void)LOAD(a.v);
#endif
  return unused;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, writer, 0);
#ifdef FENCED
  STREAM(&c.v, 1);
  _mm_mfence();
#endif
  pthread_create(&u, 0, reader, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
#if !defined MANY && !defined LOOP && !defined FENCED
  assert(b == 1 && d == 1);
#endif
  return 0;
}
