#include <assert.h>
#include <landfall.h>
/* A value and a flag on two lines, in order by a fence that only the library makes. */
void order(void);
int main(void) {
  long *p = lf_pm(128);
  if (__atomic_load_n(p + 8, __ATOMIC_ACQUIRE)) assert(p[0] == 1);
  if (lf_failures()) return 0;
  p[0] = 1;
  lf_flush(p, 8);
  order();
  __atomic_store_n(p + 8, 1, __ATOMIC_RELEASE);
  lf_persist(p + 8, 8);
}
