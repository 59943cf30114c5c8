// The budget counts function entries and turns of loops: the end comes at the same step every time.
#include "pm.h"

extern int64_t __lf_budget;

static __attribute__((noinline)) void step(int *p) { ++*p; }

int main(void) {
  int *p = pm(0);
  __lf_budget = 5;
  for (;;)
    step(p);
}
