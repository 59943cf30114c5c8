// Atomics clang leaves to libatomic: 16 bytes without cx16, and sizes no instruction has.
// options: -latomic
#include "pm.h"

struct large {
  long words[4];
};

int main(void) {
  unsigned __int128 *p = pm(16);
  __atomic_store_n(p, 5, __ATOMIC_RELEASE);
  assert(__atomic_load_n(p, __ATOMIC_ACQUIRE) == 5);
  assert(__atomic_fetch_add(p, 2, __ATOMIC_RELAXED) == 5);
  assert(__atomic_exchange_n(p, 9, __ATOMIC_ACQ_REL) == 7);
  unsigned __int128 expected = 8;
  assert(!__atomic_compare_exchange_n(p, &expected, 10, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
  assert(expected == 9);
  assert(__atomic_compare_exchange_n(p, &expected, 10, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
  unsigned __int128 *stored = pm(64);
  assert(!__atomic_compare_exchange_n(p, stored, 11, true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
  assert(*stored == 10);
  _Atomic struct large *large = pm(96);
  struct large four = {{1, 2, 3, 4}};
  __c11_atomic_store(large, four, __ATOMIC_RELEASE);
  struct large back = __c11_atomic_load(large, __ATOMIC_SEQ_CST);
  assert(back.words[3] == 4);
  _Atomic struct large outside;
  __c11_atomic_store(&outside, four, __ATOMIC_SEQ_CST);
  return 0;
}
