// Stores past the caches, of every width.
// options: -mavx512f -mmovdiri -mmovdir64b -mclwb
// needs: avx512f
#include "pm.h"
#include <immintrin.h>

int main(void) {
  char *p = pm(0);
  _mm_stream_si32((int *)p, 1);
  _mm_stream_si64((long long *)(p + 8), 2);
  _mm_stream_si128((__m128i *)(p + 16), _mm_set1_epi32(3));
  _mm_stream_ps((float *)(p + 32), _mm_set1_ps(1));
  _mm_stream_pd((double *)(p + 48), _mm_set1_pd(1));
  _mm256_stream_si256((__m256i *)(p + 64), _mm256_set1_epi8(4));
  _mm256_stream_ps((float *)(p + 96), _mm256_set1_ps(1));
  _mm512_stream_si512((__m512i *)(p + 128), _mm512_set1_epi8(5));
  _mm512_stream_pd(p + 192, _mm512_set1_pd(1));
  assert(_mm_cvtsi128_si32(_mm_stream_load_si128((__m128i *)(p + 16))) == 3);
  _directstoreu_u32(p + 256, 6);
  _directstoreu_u64(p + 264, 7);
  _movdir64b(p + 320, p + 128);
  _mm_stream_pi((__m64 *)(p + 384), _mm_set_pi32(9, 8));
  _mm_maskmove_si64(_mm_set1_pi8(3), _mm_set_pi8(0, 0, -1, 0, 0, 0, 0, -1), p + 392);
  _mm_empty();
  _mm_sfence();
  return 0;
}
