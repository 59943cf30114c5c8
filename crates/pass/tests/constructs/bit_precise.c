// Integers of odd widths, and _Bool.
#include "pm.h"

int main(void) {
  unsigned _BitInt(24) *a = pm(0);
  _BitInt(48) *b = pm(8);
  unsigned _BitInt(7) *c = pm(16);
  _BitInt(100) *d = pm(32);
  unsigned _BitInt(200) *e = pm(64);
  bool *f = pm(96);
  *a = 0xabcdef;
  *b = -2;
  *c = 100;
  *d = -3;
  *e = 5;
  *f = true;
  assert(*a == 0xabcdef);
  assert(*b == -2);
  assert(*c == 100);
  assert(*d == -3);
  assert(*e == 5);
  assert(*f);
  return 0;
}
