// memcpy, memmove and memset that clang knows: fixed, variable and inline lengths.
#include "pm.h"

static __attribute__((noinline)) size_t opaque(size_t n) {
  __asm__("" : "+r"(n));
  return n;
}

int main(void) {
  char local[64];
  memset(pm(0), 0x5a, 64);
  memcpy(pm(64), pm(0), 64);
  memcpy(local, pm(64), 64);
  assert(local[63] == 0x5a);
  memmove(pm(4), pm(0), 16);
  memcpy(pm(128), local, opaque(24));
  memset(pm(160), -1, opaque(3));
  memmove(pm(192), pm(128), opaque(24));
  __builtin_memcpy_inline(pm(256), pm(0), 16);
  __builtin_memset_inline(pm(272), 1, 16);
  memcpy(pm(300), pm(0), opaque(0));
  assert(memcmp(pm(256), pm(0), 16) == 0);
  return 0;
}
