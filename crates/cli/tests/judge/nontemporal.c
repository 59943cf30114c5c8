// expect: redundant-flush at streamed
// says: went past the cache
/* A non-temporal store cannot be torn by a compiler, and needs a fence and no flush; with threads it is the same. */
#include <emmintrin.h>
#include <landfall.h>
#include <stdint.h>

struct pair {
  _Alignas(64) int64_t words[2];
};

int main(void) {
  struct pair *p = lf_pm(2 * sizeof *p);
  if (lf_failures())
    return p->words[0] + p->words[1] == 77 || p[1].words[0] == 77;
  _mm_stream_si64((long long *)&p->words[0], 7);
  lf_flush(p, sizeof *p); //~ streamed
  lf_fence();
  _mm_stream_si128((__m128i *)&p[1], _mm_set_epi64x(2, 1));
  _mm_sfence();
  return 0;
}
