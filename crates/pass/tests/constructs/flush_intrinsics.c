// The flush and fence intrinsics have the position of their caller.
// options: -mclflushopt -mclwb
#include "pm.h"
#include <immintrin.h>

int main(void) {
  char *p = pm(0);
  p[0] = 1;
  _mm_clflush(p);
  _mm_clflushopt(p + 64);
  _mm_clwb(p + 128);
  _mm_sfence();
  _mm_mfence();
  _mm_lfence();
  __builtin_ia32_clflush(p + 1);
  __builtin_ia32_sfence();
  return 0;
}
