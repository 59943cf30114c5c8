#include <landfall.h>
int main(void) {
  long *p = lf_pm(sizeof *p);
  __asm__ volatile("movnti %1, %0" : "=m"(*p) : "r"(5L));
  return 0;
}
