// Unions, flexible arrays, and fields at computed places.
#include "pm.h"

union word {
  uint64_t whole;
  uint16_t parts[4];
};
struct string {
  uint32_t length;
  char text[];
};

int main(void) {
  union word *w = pm(0);
  w->whole = 0x0004000300020001;
  int sum = 0;
  for (int i = 0; i < 4; i++)
    sum += w->parts[i];
  assert(sum == 10);
  struct string *s = pm(64);
  s->length = 2;
  s->text[s->length - 1] = 'x';
  return 0;
}
