// Values that meet: a loaded value used in phis, selects, comparisons, and short-circuit operators.
#include "pm.h"

static __attribute__((noinline)) int choose(const int *p, const int *q) {
  int v = p ? *p : -1;
  int w = q && *q > 3 ? *q : v;
  return v > w ? v : w;
}

int main(void) {
  int *p = pm(0);
  int outside = 9;
  p[0] = 4;
  assert(choose(p, NULL) == 4);
  assert(choose(p, &outside) == 9);
  assert(choose(NULL, p) == 4);
  return 0;
}
