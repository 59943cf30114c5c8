// Structures assigned, passed and returned by value.
#include "pm.h"

struct small { int a, b; };
struct large { long values[8]; };

static struct large twice(struct large value) {
  value.values[0] *= 2;
  return value;
}
static __attribute__((noinline)) long first(struct large value) { return value.values[0]; }
static __attribute__((noinline)) int sum(struct small value) { return value.a + value.b; }

int main(void) {
  struct small *s = pm(0), *t = pm(8);
  s->a = 1;
  s->b = 2;
  *t = *s;
  struct large *l = pm(64), *m = pm(128);
  struct large zero = {{3}};
  *l = zero;
  *m = *l;
  assert(sum(*s) == 3);
  assert(first(*l) == 3);
  *m = twice(*l);
  assert(m->values[0] == 6);
  return 0;
}
