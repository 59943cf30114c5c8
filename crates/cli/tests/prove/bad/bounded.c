/* The number of rounds depends on an input: proved up to the bound, and that is said. */
#include <assert.h>
#include <landfall.h>
int main(void) {
  long *p = lf_pm(sizeof *p);
  assert(*p >= 0);
  long n = (long)(lf_nondet() & 0xff);
  for (long i = 0; i < n; i++)
    *p = i;
  return 0;
}
