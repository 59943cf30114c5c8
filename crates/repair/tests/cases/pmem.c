// durable
#include <libpmem.h>
#include <stdint.h>
struct root { uint64_t a, b; };
void f(struct root *r) {
  r->a /*@*/= 1;
  r->b = 2;
  pmem_persist(&r->b, sizeof(r->b));
}
