// Assembly that is not understood: one warning per place, and a hook.
#include "pm.h"

static inline __attribute__((always_inline)) void copy(void *to, const void *from, long n) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

int main(void) {
  copy(pm(0), "abcdefg", 8);
  copy(pm(8), "hijklmn", 8);
  __asm__ volatile("addl $1, %0" : "+m"(*(int *)pm(16)));
  __asm__ volatile("bts %1, (%0)" ::"r"(pm(24)), "r"(3L));
  assert(memcmp(pm(0), "abcdefg\0hijklmn", 16) == 0);
  return 0;
}
