/* A recovery that waits for a word which a power failure may leave set. */
#include <assert.h>
#include <landfall.h>

int main(void) {
  volatile long *pm = lf_pm(64);
  if (lf_failures() > 0) {
#ifdef RESET
    pm[0] = 0;
#endif
    while (pm[0])
      ;
    assert(pm[0] == 0);
    return 0;
  }
  pm[0] = 1;
  lf_persist((void *)pm, 8);
  pm[0] = 0;
  lf_persist((void *)pm, 8);
  return 0;
}
