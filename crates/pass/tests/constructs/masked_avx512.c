// AVX-512: masks in registers, compress, expand, gather, scatter.
// options: -mavx512f -mavx512vl -mavx512bw
// needs: avx512f avx512vl avx512bw
#include "pm.h"
#include <immintrin.h>

int main(void) {
  long long *p = pm(0);
  __m512i data = _mm512_setr_epi64(1, 2, 3, 4, 5, 6, 7, 8);
  _mm512_mask_storeu_epi64(p, 0x81, data);
  __m512i back = _mm512_maskz_loadu_epi64(0x80, p);
  assert(_mm512_reduce_add_epi64(back) == 8);
  _mm512_mask_compressstoreu_epi64(p + 8, 0x28, data);
  assert(p[8] == 4 && p[9] == 6);
  __m512i spread = _mm512_maskz_expandloadu_epi64(0x0a, p + 8);
  assert(_mm512_reduce_add_epi64(spread) == 10);
  __m512i index = _mm512_setr_epi64(16, 18, 20, 22, 24, 26, 28, 30);
  _mm512_mask_i64scatter_epi64(p, 0x03, index, data, 8);
  assert(p[16] == 1 && p[18] == 2);
  __m512i gathered = _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), 0x02, index, p, 8);
  assert(_mm512_reduce_add_epi64(gathered) == 2);
  return 0;
}
