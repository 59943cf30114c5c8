// Complex numbers are two accesses each.
#include "pm.h"

int main(void) {
  _Complex double *z = pm(0);
  _Complex float *w = pm(32);
  *z = 1.0 + 2.0i;
  *w = 3.0f;
  assert(__real__ *z == 1.0);
  *z += *z;
  assert(__imag__ *z == 4.0);
  return 0;
}
