// expect: redundant-flush at streamed
// says: went past the cache
#include <emmintrin.h>
#include <landfall.h>
#include <pthread.h>
#include <stdint.h>

static struct pair {
  _Alignas(64) int64_t words[2];
} *p;

static void *work(void *unused) {
  _mm_stream_si64((long long *)&p->words[0], 7);
  lf_flush(p, sizeof *p); //~ streamed
  lf_fence();
  _mm_stream_si128((__m128i *)&p[1], _mm_set_epi64x(2, 1));
  _mm_sfence();
  return unused;
}

int main(void) {
  p = lf_pm(2 * sizeof *p);
  if (lf_failures())
    return p->words[0] + p->words[1] == 77 || p[1].words[0] == 77;
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  pthread_join(thread, 0);
  return 0;
}
