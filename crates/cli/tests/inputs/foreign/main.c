#include <assert.h>
#include <landfall.h>
long get(const long *);
/* A value and a flag on two lines; only the foreign object looks at them. */
int main(void) {
  long *p = lf_pm(128);
  if ((FIRST || lf_failures()) && get(p + 8)) assert(get(p) == 1);
  if (lf_failures()) return 0;
  p[0] = 1;
#ifndef LOST
  lf_persist(p, 8);
#endif
  __atomic_store_n(p + 8, 1, __ATOMIC_RELEASE);
  lf_persist(p + 8, 8);
}
