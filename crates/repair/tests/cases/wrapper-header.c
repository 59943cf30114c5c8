// durable
#include <stdint.h>
#include "wrapper-header.h"
struct root { uint64_t a, b; };
void f(struct root *r) {
  r->a /*@*/= 1;
  r->b = 2;
  FLUSH_RANGE(&r->b, sizeof(r->b));
  barrier();
}
