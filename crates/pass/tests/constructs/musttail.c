// Guaranteed tail calls stay tail calls.
#include "pm.h"

static int even(int *p, int n);
static int odd(int *p, int n) {
  if (n == 0)
    return 0;
  *p = n;
  __attribute__((musttail)) return even(p, n - 1);
}
static int even(int *p, int n) {
  if (n == 0)
    return 1;
  __attribute__((musttail)) return odd(p, n - 1);
}

int main(void) {
  assert(even(pm(0), 3) == 0);
  return 0;
}
