/* What recovery reads depends on the processor's random numbers, taken by an instruction that nobody can intercept. */
#include <landfall.h>

static unsigned dice(void) {
  unsigned n;
  unsigned char ok;
  do
    __asm__ volatile("rdrand %0; setc %1" : "=r"(n), "=qm"(ok) : : "cc");
  while (!ok);
  return n;
}

int main(void) {
  long *p = lf_pm(3 * 64);
  if (lf_failures())
    return dice() & 1 ? p[8] < 0 : p[16] < 0; /* here two runs part */
  for (long i = 1; i <= 40; i++) {
    p[8] = i;
    p[16] = i;
    lf_persist(p, 3 * 64);
  }
  return 0;
}
