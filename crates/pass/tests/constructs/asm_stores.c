// Moves in inline assembly, cached and past the caches.
#include "pm.h"
#include <emmintrin.h>

int main(void) {
  long *p = pm(0);
  __asm__ volatile("movnti %1, %0" : "=m"(*p) : "r"(5L));
  __asm__ volatile("movnti %0, (%1)" ::"r"(6), "r"(p + 1) : "memory");
  __asm__ volatile("movq %1, %0" : "=m"(p[2]) : "r"(7L));
  __asm__ volatile("movl $8, %0" : "=m"(*(int *)(p + 3)));
  long loaded;
  __asm__ volatile("movq %1, %0" : "=r"(loaded) : "m"(p[2]));
  assert(loaded == 7);
  __m128i four = _mm_set1_epi32(4);
  __asm__ volatile("movntdq %1, %0" : "=m"(*(__m128i *)(p + 4)) : "x"(four));
  long local;
  __asm__ volatile("movq %1, %0" : "=m"(local) : "r"(9L));
  assert(local == 9 && p[0] == 5 && p[1] == 6);
  return 0;
}
