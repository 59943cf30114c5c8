// A structure in persistent memory passed by value is read before the call, also among other arguments and by variadic calls.
#include "pm.h"
#include <stdarg.h>

struct triple {
  long a, b, c;
};

static __attribute__((noinline)) long sum(int x, struct triple s, double y, struct triple t) {
  return x + s.a + s.b + s.c + (long)y + t.c;
}
static __attribute__((noinline)) long variadic(int n, ...) {
  va_list list;
  va_start(list, n);
  struct triple s = va_arg(list, struct triple);
  va_end(list);
  return s.a;
}

int main(void) {
  struct triple *p = pm(0);
  p->a = 1;
  p->b = 2;
  p->c = 3;
  assert(sum(10, *p, 20.0, p[0]) == 39);
  assert(variadic(1, *p) == 1);
  return 0;
}
