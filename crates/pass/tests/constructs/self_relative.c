// A self-relative pointer in a local variable reaches persistent memory by adding a distance to its own address.
#include "pm.h"

struct relative {
  intptr_t distance;
};

static inline int *get(struct relative *r) { return (int *)((char *)r + r->distance); }

int main(void) {
  struct relative local;
  local.distance = (char *)pm(16) - (char *)&local;
  __asm__("" : "+m"(local));
  *get(&local) = 7;
  assert(*get(&local) == 7);
  return 0;
}
