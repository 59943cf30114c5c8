#include <immintrin.h>
#include <stddef.h>
#define FLUSH_RANGE(p, n) do { \
    for (size_t at = 0; at < (n); at += 64) \
      _mm_clflushopt((char *)(p) + at); \
  } while (0)
static inline void barrier(void) { _mm_sfence(); }
