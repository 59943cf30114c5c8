// Instructions of the processor that are not followed: named where they may reach persistent memory, silent on locals.
// options: -mfxsr -mrtm
#include "pm.h"
#include <immintrin.h>

static __attribute__((noinline)) unsigned transaction(void) { return _xbegin(); }

int main(int count, char **names) {
  char local[512] __attribute__((aligned(64)));
  _fxsave64(local);
  _fxsave64(pm(0));
  if (count > 5)
    transaction();
  unsigned control = _mm_getcsr();
  _mm_setcsr(control);
  return 0;
}
