/* A helper that flushes, and forgets to fence with -DNO_FENCE. */
#include "store.h"
#include <immintrin.h>
#include <stdint.h>

void persist(const void *p, size_t bytes) {
  for (uintptr_t at = (uintptr_t)p & ~63ul; at < (uintptr_t)p + bytes; at += 64)
    _mm_clflushopt((void *)at);
#ifndef NO_FENCE
  _mm_sfence();
#endif
}
