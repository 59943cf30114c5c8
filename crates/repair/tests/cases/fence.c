// fence
#include <immintrin.h>
#include <stdint.h>
struct r { uint64_t data[8], valid; };
void f(struct r *r) {
  r->data[0] = 1;
  /*@*/_mm_clwb(r->data);
  r->valid /*@before*/= 1;
  _mm_clwb(&r->valid);
  _mm_sfence();
}
