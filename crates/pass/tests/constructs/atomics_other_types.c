// Atomic floats, pointers, booleans and small structures.
#include "pm.h"
#include <stdatomic.h>

struct pair { int a, b; };

int main(void) {
  _Atomic float *f = pm(0);
  _Atomic double *d = pm(8);
  *f = 1.5f;
  *d = 2.5;
  __atomic_fetch_add((float *)f, 1.0f, __ATOMIC_RELAXED);
  __atomic_fetch_sub((double *)d, 1.0, __ATOMIC_SEQ_CST);
  assert(*f == 2.5f && *d == 1.5);
  _Atomic(char *) *p = pm(16);
  *p = pm(64);
  atomic_fetch_add(p, 2);
  assert(*p == pm(66));
  char *expected = pm(66);
  assert(atomic_compare_exchange_strong(p, &expected, NULL));
  _Atomic bool *b = pm(24);
  *b = true;
  assert(atomic_exchange(b, false));
  _Atomic struct pair *s = pm(32);
  atomic_store(s, ((struct pair){1, 2}));
  struct pair now = atomic_load(s);
  assert(now.a == 1 && now.b == 2);
  return 0;
}
