// A non-temporal and an ordinary store to one volatile line, then persistent memory: what is stored there comes behind both.
// check: --checks crash
// exit: 100
// finds: assertion
// check: --checks crash -DOTHER_WAY
// exit: 100
// finds: assertion
// check: --checks crash -DOTHER_WAY -DSAFE
// exit: 0
#include <assert.h>
#include <immintrin.h>
#include <landfall.h>
#include <pthread.h>
#include <stdint.h>
static volatile uint8_t *durable;
static volatile uint64_t line[8] __attribute__((aligned(64)));

static void *first(void *unused) {
#ifdef OTHER_WAY
  durable[64] = 1;
  line[0] = 5;
  _mm_stream_si64((long long *)&line[2], 1);
  durable[0] = 193;
#else
  _mm_stream_si64((long long *)&line[2], 1);
  line[0] = 5;
  durable[0] = 193;
#endif
  return unused;
}

static void *second(void *unused) {
#ifndef SAFE
  __atomic_store_n(durable, 166, __ATOMIC_SEQ_CST);
#endif
  return unused;
}

int main(void) {
  durable = lf_pm(128);
  if (lf_failures()) {
    assert(durable[0] != 166);
    return 0;
  }
  pthread_t threads[2];
  pthread_create(&threads[0], 0, first, 0);
  pthread_create(&threads[1], 0, second, 0);
  pthread_join(threads[0], 0);
  pthread_join(threads[1], 0);
  return 0;
}
