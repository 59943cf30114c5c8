#include <landfall.h>
int main(void) {
  long *p = lf_pm(64);
  *(long *)(lf_nondet() * 8) = 1;
  return (int)*p;
}
