#include <landfall.h>
#include <string.h>
int main(void) {
  char *p = lf_pm(4096);
  size_t n = lf_nondet();
  lf_assume(n < 100);
  memset(p, 1, n);
  lf_persist(p, n);
  return 0;
}
