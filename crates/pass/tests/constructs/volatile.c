// Volatile accesses are marked; a volatile local variable is nobody's business.
#include "pm.h"

int main(void) {
  volatile int *p = pm(0);
  *p = 1;
  *p;
  *p = *p + 1;
  volatile long *q = pm(8);
  *q = 3;
  volatile int local = 4;
  local++;
  return local == 5 ? 0 : 1;
}
