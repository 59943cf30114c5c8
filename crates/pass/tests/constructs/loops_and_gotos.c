// Control flow the splitting of blocks must keep: loops, switches, irreducible jumps, computed gotos.
#include "pm.h"

static int irreducible(int n) {
  int *p = pm(0);
  if (n & 1)
    goto middle;
top:
  *p += 1;
middle:
  n -= 2;
  if (n > 0)
    goto top;
  return *p;
}

static int computed(int n) {
  static void *const targets[] = {&&zero, &&one, &&end};
  int *p = pm(4);
  goto *targets[n];
zero:
  *p = 1;
  goto *targets[2];
one:
  *p = 2;
end:
  return *p;
}

int main(void) {
  long *array = pm(64);
  for (int i = 0; i < 3; i++)
    array[i] = i;
  long sum = 0;
  for (int i = 2; i >= 0; i--)
    sum += array[i];
  assert(sum == 3);
  switch (array[2]) {
  case 2:
    array[3] = 7;
    break;
  default:
    array[4] = 8;
  }
  assert(irreducible(5) == 2);
  assert(computed(1) == 2);
  return 0;
}
