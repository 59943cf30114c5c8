// expect: robustness lost first kept second
/* Meant to share a line: eight bytes off, they do not. */
#include <landfall.h>
#include <stdint.h>

int main(void) {
  char *region = lf_pm(192);
  _Atomic uint64_t *first = (void *)(region + 56), *second = (void *)(region + 64);
  if (lf_failures())
    return *second ? *first == 77 : 0;
  *first = 1;  //~ first
  *second = 1; //~ second
  lf_persist(region, 128);
  return 0;
}
