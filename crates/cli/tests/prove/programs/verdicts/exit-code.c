/* A recovery that says by its exit code that it found something wrong; and a program that does so without any failure. */
#include <landfall.h>

int main(void) {
  volatile long *pm = lf_pm(256);
  if (lf_failures() > 0) return pm[8] && !pm[0];
  pm[0] = 1;
#ifdef ORDERED
  lf_persist((void *)pm, 8);
#endif
  pm[8] = 1;
  lf_persist((void *)pm, 128);
#ifdef ALONE
  return pm[8] == 1;
#endif
  return 0;
}
