// seen
#include <atomic>
#include <landfall.h>

struct node {
  alignas(64) std::atomic<int> next;
};

void f(node &n, node &mine) {
  int next = n.next./*@*/load(std::memory_order_acquire);
  mine.next.store(next);
  lf_persist(&mine, sizeof mine);
}
