// Bit-fields: clang reads and writes the storage unit around them.
#include "pm.h"

struct flags {
  unsigned dirty : 1;
  unsigned level : 4;
  unsigned : 3;
  unsigned char kind;
  uint64_t wide : 40;
};

int main(void) {
  struct flags *f = pm(0);
  f->dirty = 1;
  f->level = 9;
  f->kind = 7;
  f->wide = 0x123456789a;
  assert(f->dirty == 1 && f->level == 9);
  assert(f->wide == 0x123456789a);
  return 0;
}
