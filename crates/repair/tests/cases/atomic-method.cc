// durable
#include <atomic>
#include <landfall.h>
struct Root { std::atomic<long> a, b; };
void f(Root *r) {
  r->a./*@*/store(1, std::memory_order_release);
  r->b++;
}
