// expect: robustness lost a kept b
// says: `a` and `b` are members of `struct pair`, 8 bytes apart, and the end of a cache line falls between them
/* Meant to share a line, and in a struct that fits on one: its array is not aligned. */
#include <landfall.h>
#include <stdint.h>

struct pair {
  _Atomic uint64_t a, b;
};

struct table {
  _Atomic uint64_t count;
  struct pair pair[8];
};

int main(void) {
  struct table *t = lf_pm(sizeof *t);
  if (lf_failures())
    return t->pair[3].b ? t->pair[3].a == 77 : 0;
  t->pair[3].a = 1; //~ a
  t->pair[3].b = 1; //~ b
  lf_persist(t, sizeof *t);
  return 0;
}
