// So does recursion without end, and a loop made of gotos.
#include "pm.h"

extern int64_t __lf_budget;
static int depth;

static __attribute__((noinline)) int down(int n) {
  depth++;
  return down(n + 1) + 1;
}

int main(void) {
  __lf_budget = 100;
  return down(0);
}
