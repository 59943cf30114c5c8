// Pointers promised not to alias: hooks read and write through them all the same.
#include "pm.h"

static __attribute__((noinline)) int add(int *restrict a, const int *restrict b, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    a[i] += b[i];
    sum += a[i];
  }
  return sum;
}

int main(void) {
  int local[2] = {5, 6};
  assert(add(pm(0), local, 2) == 11);
  assert(add(local, pm(0), 2) == 22);
  return 0;
}
