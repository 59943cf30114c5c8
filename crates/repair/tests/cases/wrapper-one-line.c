// durable
#include <immintrin.h>
#include <stdint.h>
static void flush(void *line) { _mm_clflushopt(line); }
static void fence(void) { _mm_sfence(); }
static void persist(uint64_t *p) {
  flush(p);
  fence();
}
void set(uint64_t *p) {
  *p /*@*/= 1;
  persist(p + 8);
}
