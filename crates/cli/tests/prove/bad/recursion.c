#include <assert.h>
#include <landfall.h>
static long depth(long n) { return n ? 1 + depth(n - 1) : 0; }
int main(void) {
  long *p = lf_pm(sizeof *p);
  assert(*p == 0 || *p == 3);
  *p = depth(3);
  return 0;
}
