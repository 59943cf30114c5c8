// Instructions of the processor that are not followed: named where they may reach persistent memory, silent on locals.
// options: -mfxsr
#include "pm.h"
#include <immintrin.h>

int main(int count, char **names) {
  char local[512] __attribute__((aligned(64)));
  _fxsave64(local);
  _fxsave64(pm(0));
  unsigned control = _mm_getcsr();
  _mm_setcsr(control);
  return 0;
}
