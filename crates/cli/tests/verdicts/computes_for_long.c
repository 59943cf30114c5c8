// A loop that computes for long is no hang: a limit, which names the option and the place.
// check: --checks crash --events 100000
// exit: 5
// limit: events
// check: --checks crash --events 100000 -DRECOVERY
// exit: 5
// limit: events
// check: --checks crash --events 10000000
// exit: 0
#include <landfall.h>
#include <stdint.h>

static void compute(void) {
  volatile uint64_t sum = 0;
  for (uint64_t i = 0; i < 1000000; i++)
    sum += i;
}

int main(void) {
  long *cell = lf_pm(64);
#ifdef RECOVERY
  if (cell[0])
#endif
    compute();
  cell[0] = 1;
  lf_persist(cell, 8);
}
