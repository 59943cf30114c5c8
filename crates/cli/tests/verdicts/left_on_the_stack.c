// What a store replaces may be what others left behind on the stack: not the same where a run is a fork and where it is in place.
// check: --checks crash --preempt everywhere -O0
// exit: 0
// check: --checks crash --preempt everywhere -O0 -j 1
// exit: 0
#include <landfall.h>
#include <pthread.h>
#include <stdint.h>
static char *memory;

static void *reads(void *none) {
  (void)__atomic_load_n((uint16_t *)(memory + 106), __ATOMIC_SEQ_CST);
  return none;
}

static void phase(void) {
  pthread_t threads[4];
  pthread_create(&threads[1], 0, reads, 0);
  *(volatile long *)(memory + 104) = 1;
  pthread_join(threads[1], 0);
}

int main(void) {
  memory = lf_pm(128);
  if (lf_failures())
    return 0;
  phase();
  return 0;
}
