// The 128-bit compare-and-exchange of lock-free queues.
#include "pm.h"

static bool cas2(void *p, uint64_t old_low, uint64_t old_high, uint64_t low, uint64_t high) {
  bool done;
  __asm__ volatile("lock; cmpxchg16b %1; setz %0"
                   : "=q"(done), "+m"(*(__int128 *)p), "+a"(old_low), "+d"(old_high)
                   : "b"(low), "c"(high)
                   : "memory", "cc");
  return done;
}

int main(void) {
  assert(cas2(pm(32), 0, 0, 1, 2));
  assert(!cas2(pm(32), 0, 0, 3, 4));
  assert(cas2(pm(32), 1, 2, 5, 6));
  uint64_t *p = pm(32);
  assert(p[0] == 5 && p[1] == 6);
  return 0;
}
