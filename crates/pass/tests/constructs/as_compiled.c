// Behind the optimiser: what it merged or dropped is gone, what it left is seen.
// mode: as-compiled
#include "pm.h"

int main(void) {
  int *p = pm(0);
  p[0] = 1;
  p[0] = 2;
  p[1] = 3;
  for (int i = 0; i < 8; i++)
    p[16 + i] = 0;
  return p[1] == 3 ? 0 : 1;
}
