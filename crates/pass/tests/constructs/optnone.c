// A function that must not be optimised is instrumented like any other.
#include "pm.h"

__attribute__((optnone, noinline)) static int plain(int *p) {
  int v = *p;
  v++;
  *p = v;
  return v;
}

int main(void) {
  assert(plain(pm(0)) == 1);
  return 0;
}
