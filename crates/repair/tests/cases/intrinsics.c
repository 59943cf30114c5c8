// durable
#include <immintrin.h>
#include <stdint.h>
struct root { uint64_t a, b; };
void f(struct root *r) {
  r->a /*@*/= 1;
  r->b = 2;
  _mm_clwb(&r->b);
  _mm_sfence();
}
