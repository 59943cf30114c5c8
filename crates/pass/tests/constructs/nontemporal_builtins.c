// Clang's own builtins for accesses past the caches.
#include "pm.h"

int main(void) {
  long *p = pm(0);
  __builtin_nontemporal_store(5L, p);
  __builtin_nontemporal_store((char)6, (char *)(p + 1));
  __builtin_nontemporal_store(1.0f, (float *)(p + 2));
  assert(__builtin_nontemporal_load(p) == 5);
  return 0;
}
