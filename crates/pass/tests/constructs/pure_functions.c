// Functions promised to be pure or const still work once they call hooks.
#include "pm.h"

__attribute__((pure, noinline)) static int read_only(const int *p) { return *p; }
__attribute__((const, noinline)) static int square(int x) {
  int sum = 0;
  for (int i = 0; i < x; i++)
    sum += x;
  return sum;
}

int main(void) {
  int *p = pm(0);
  *p = 3;
  int a = read_only(p);
  *p = 4;
  int b = read_only(p);
  *(int *)pm(8) = square(a) + square(b);
  assert(*(int *)pm(8) == 25);
  return 0;
}
