// durable bytes=64
#include <immintrin.h>
#include <stdint.h>
struct root { uint64_t a[8], b; };
void f(struct root *r, struct root *q) {
  *r /*@*/= *q;
  r->b = 2;
  _mm_clwb(&r->b);
  _mm_sfence();
}
