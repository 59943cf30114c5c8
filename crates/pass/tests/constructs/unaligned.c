// Unaligned accesses, within a line and across the border of two.
#include "pm.h"

struct __attribute__((packed)) record {
  char tag;
  uint64_t key;
  uint16_t length;
};

struct __attribute__((packed)) wide {
  unsigned __int128 value;
};

int main(void) {
  struct record *r = pm(3);
  r->key = 0x1122334455667788;
  r->length = 0x99aa;
  assert(r->key == 0x1122334455667788);
  struct record *crossing = pm(59);
  crossing->key = 1;
  assert(crossing->key == 1);
  struct wide *wide = pm(120);
  wide->value = 2;
  assert(wide->value == 2);
  return 0;
}
