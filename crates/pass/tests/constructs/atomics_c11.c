// C11 atomics with every ordering.
#include "pm.h"
#include <stdatomic.h>

int main(void) {
  _Atomic int *a = pm(0);
  atomic_store_explicit(a, 1, memory_order_relaxed);
  atomic_store_explicit(a, 2, memory_order_release);
  atomic_store(a, 3);
  assert(atomic_load_explicit(a, memory_order_relaxed) == 3);
  assert(atomic_load_explicit(a, memory_order_acquire) == 3);
  assert(atomic_load(a) == 3);
  *a = 4;
  *a += 1;
  assert(atomic_exchange_explicit(a, 6, memory_order_acq_rel) == 5);
  atomic_fetch_add_explicit(a, 1, memory_order_relaxed);
  atomic_fetch_sub_explicit(a, 1, memory_order_acquire);
  atomic_fetch_or_explicit(a, 8, memory_order_release);
  atomic_fetch_and(a, 12);
  atomic_fetch_xor(a, 1);
  int expected = 13;
  assert(atomic_compare_exchange_strong(a, &expected, 20));
  assert(!atomic_compare_exchange_strong_explicit(a, &expected, 21, memory_order_release, memory_order_relaxed));
  assert(expected == 20);
  while (!atomic_compare_exchange_weak_explicit(a, &expected, 22, memory_order_acq_rel, memory_order_acquire)) {
  }
  _Atomic char *c = pm(4);
  _Atomic short *s = pm(6);
  _Atomic long *l = pm(8);
  *c = 1;
  *s = 2;
  *l = 3;
  (*c)--;
  assert(*c + *s + *l == 5);
  atomic_flag *flag = pm(16);
  assert(!atomic_flag_test_and_set(flag));
  atomic_flag_clear_explicit(flag, memory_order_release);
  return 0;
}
