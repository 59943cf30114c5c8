// `asm goto`: understood as irrelevant, or named and left alone.
#include "pm.h"

static int jump(int v) {
  __asm__ goto("testl %0, %0; jnz %l1" : : "r"(v) : "cc" : nonzero);
  return 0;
nonzero:
  return 1;
}

int main(void) {
  *(int *)pm(0) = jump(0);
  *(int *)pm(4) = jump(5);
  return 0;
}
