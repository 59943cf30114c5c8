// Vector stores and loads under a mask: only the lanes that take part are accessed.
// options: -mavx2
// needs: avx2
#include "pm.h"
#include <immintrin.h>

int main(void) {
  int *p = pm(0);
  __m256i mask = _mm256_setr_epi32(-1, 0, -1, 0, 0, 0, 0, -1);
  __m256i data = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8);
  _mm256_maskstore_epi32(p, mask, data);
  __m256i back = _mm256_maskload_epi32(p, mask);
  assert(_mm256_extract_epi32(back, 0) == 1 && _mm256_extract_epi32(back, 1) == 0 && _mm256_extract_epi32(back, 7) == 8);

  double *d = pm(64);
  _mm_maskstore_pd(d, _mm_setr_epi32(0, 0, -1, -1), _mm_setr_pd(1.0, 2.0));
  assert(d[1] == 2.0);

  _mm_maskmoveu_si128(_mm_set1_epi8(7), _mm_setr_epi8(0, -1, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1), pm(128));

  __m128i gathered = _mm_i32gather_epi32(p, _mm_setr_epi32(7, 2, 0, 0), 4);
  assert(_mm_cvtsi128_si32(gathered) == 8);

  int local[8] = {0};
  _mm256_maskstore_epi32(local, mask, data);
  assert(local[2] == 3 && local[3] == 0);
  return 0;
}
