// 128-bit atomics.
// options: -mcx16
// needs: cx16
#include "pm.h"

int main(void) {
  unsigned __int128 *p = pm(16);
  __atomic_store_n(p, ((unsigned __int128)1 << 64) | 2, __ATOMIC_RELEASE);
  unsigned __int128 expected = __atomic_load_n(p, __ATOMIC_ACQUIRE);
  assert(expected >> 64 == 1);
  assert(__sync_bool_compare_and_swap(p, expected, 5));
  assert(__atomic_fetch_add(p, 3, __ATOMIC_SEQ_CST) == 5);
  assert(__atomic_exchange_n(p, 9, __ATOMIC_ACQ_REL) == 8);
  return 0;
}
