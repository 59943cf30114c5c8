// flags: --checks races
// expect: persistency-race racing store at load
/* The power may fail between two halves of the store. */
#include <landfall.h>
#include <stdint.h>

int main(void) {
  uint64_t *p = lf_pm(sizeof *p);
  if (lf_failures())
    return *p == 77; //~ load
  *p = 5; //~ store
  lf_persist(p, sizeof *p);
  return 0;
}
