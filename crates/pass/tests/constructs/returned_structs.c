// Structures returned in registers and in memory, with padding that must not be written.
#include "pm.h"

struct padded {
  long a;
  char b;
};
struct mixed {
  double x;
  int n;
};

__attribute__((noinline)) struct padded make_padded(void) { return (struct padded){1, 2}; }
__attribute__((noinline)) struct mixed make_mixed(void) { return (struct mixed){1.0, 3}; }

int main(void) {
  struct padded *p = pm(0);
  struct mixed *m = pm(32);
  p->b = make_padded().b;
  m->n = make_mixed().n;
  p->a = make_padded().a;
  assert(p->a == 1 && p->b == 2 && m->n == 3);
  return 0;
}
