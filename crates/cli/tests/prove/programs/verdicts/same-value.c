/* A store of what is there already may be lost: by values nothing is missing, by stores something is. */
#include <landfall.h>

int main(void) {
  volatile long *pm = lf_pm(128);
  if (lf_failures() > 0) {
    volatile long x = pm[0], y = pm[8];
    (void)x, (void)y;
    return 0;
  }
  pm[0] = 5;
  lf_persist((void *)pm, 8);
  pm[0] = SECOND;
  pm[8] = 1;
  return 0;
}
