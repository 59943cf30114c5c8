// durable
#include <immintrin.h>
#include <stddef.h>
static void persist(void *p, size_t n, long *counter) {
  (*counter)/*@*/++;
  for (size_t i = 0; i < n; i += 64)
    _mm_clwb((char *)p + i);
  _mm_sfence();
}
void f(long *p, long *c) { persist(p, 8, c); }
