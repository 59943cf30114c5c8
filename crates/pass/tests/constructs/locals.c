// Local variables: private, passed on, arrays with computed places, and of variable length.
#include "pm.h"

static __attribute__((noinline)) void set(int *p, int v) { *p = v; }

int main(void) {
  int private_array[4] = {1, 2, 3, 4};
  int shared = 0;
  set(&shared, 5);
  int n = *(int *)pm(0) + 3;
  int variable[n];
  for (int i = 0; i < n; i++)
    variable[i] = private_array[i];
  set(variable, shared);
  set(pm(4), variable[0] + variable[2]);
  assert(*(int *)pm(4) == 8);
  return 0;
}
