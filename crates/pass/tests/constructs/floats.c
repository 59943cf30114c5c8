// Floating-point widths: half, single, double, x87's 80 bits, quadruple.
#include "pm.h"

int main(void) {
  _Float16 *h = pm(0);
  float *f = pm(4);
  double *d = pm(8);
  long double *x = pm(16);
  __float128 *q = pm(32);
  *h = (_Float16)1.0f;
  *f = 1.0f;
  *d = 1.0;
  *x = 1.0L;
  *q = 1;
  assert(*h == (_Float16)1.0f);
  assert(*f == 1.0f);
  assert(*d == 1.0);
  assert(*x == 1.0L);
  return 0;
}
