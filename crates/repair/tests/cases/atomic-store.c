// durable
#include <stdatomic.h>
#include <landfall.h>
struct root { _Atomic long a, b; };
void f(struct root *r) {
  /*@*/atomic_store_explicit(&r->a, 1, memory_order_release);
  atomic_fetch_add(&r->b, 1);
  lf_persist(&r->b, sizeof r->b);
}
