// Loads and stores of every integer width, signed and unsigned.
#include "pm.h"

int main(void) {
  uint8_t *a = pm(1);
  int16_t *b = pm(2);
  uint32_t *c = pm(4);
  int64_t *d = pm(8);
  unsigned __int128 *e = pm(16);
  *a = 0x80;
  *b = -2;
  *c = 0xdeadbeef;
  *d = -1;
  *e = ((unsigned __int128)7 << 64) | 9;
  assert(*a == 0x80);
  assert(*b == -2);
  assert(*c == 0xdeadbeef);
  assert(*d == -1);
  assert(*e == (((unsigned __int128)7 << 64) | 9));
  return 0;
}
