// GNU's __atomic and __sync builtins, nand, min and max included.
#include "pm.h"

int main(void) {
  int *p = pm(0);
  __atomic_store_n(p, 6, __ATOMIC_RELEASE);
  assert(__atomic_load_n(p, __ATOMIC_ACQUIRE) == 6);
  assert(__atomic_fetch_nand(p, 3, __ATOMIC_SEQ_CST) == 6);
  assert(__atomic_nand_fetch(p, 5, __ATOMIC_RELAXED) == ~(~2 & 5));
  __atomic_fetch_max(p, 7, __ATOMIC_RELAXED);
  __atomic_fetch_min(p, -9, __ATOMIC_RELAXED);
  __atomic_fetch_max((unsigned *)p, 7u, __ATOMIC_RELAXED);
  __atomic_fetch_min((unsigned *)p, 7u, __ATOMIC_RELAXED);
  assert(*p == 7);
  assert(__sync_fetch_and_add(p, 1) == 7);
  assert(__sync_bool_compare_and_swap(p, 8, 9));
  assert(__sync_val_compare_and_swap(p, 8, 10) == 9);
  assert(__sync_lock_test_and_set(p, 11) == 9);
  __sync_lock_release(p);
  long long value = 5, old;
  __atomic_exchange((long long *)pm(8), &value, &old, __ATOMIC_ACQ_REL);
  __atomic_load((long long *)pm(8), &old, __ATOMIC_SEQ_CST);
  assert(old == 5);
  return 0;
}
