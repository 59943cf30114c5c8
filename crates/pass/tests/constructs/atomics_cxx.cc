// std::atomic.
// options: -std=c++20
#include "pm.h"
#include <atomic>
#include <new>

int main() {
  auto *a = new (pm(0)) std::atomic<long>(1);
  a->store(2, std::memory_order_release);
  assert(a->load(std::memory_order_acquire) == 2);
  a->fetch_add(3, std::memory_order_acq_rel);
  (*a)++;
  long expected = 6;
  assert(a->compare_exchange_strong(expected, 9));
  assert(!a->compare_exchange_weak(expected, 10, std::memory_order_release, std::memory_order_relaxed));
  std::atomic_thread_fence(std::memory_order_seq_cst);
  auto *d = new (pm(8)) std::atomic<double>(1.0);
  d->fetch_add(2.0);
  assert(d->load() == 3.0);
  return 0;
}
