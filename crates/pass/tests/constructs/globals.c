// Globals, static and thread-local variables are not persistent memory, whatever is stored in them.
#include "pm.h"

int exported[4];
static long hidden;
static _Thread_local int own;

int main(void) {
  int index = *(int *)pm(0);
  exported[index] = 1;
  exported[2] = 2;
  hidden = 3;
  own = 4;
  int *where = exported;
  __asm__("" : "+r"(where));
  where[3] = 5;
  assert(exported[0] + exported[2] + exported[3] + hidden + own == 15);
  return 0;
}
