// A fence among other instructions: the fence is seen, the rest still happens.
#include "pm.h"

int main(void) {
  unsigned low = 0, high = 0;
  __asm__ volatile("mfence; rdtsc; lfence" : "=a"(low), "=d"(high) : : "memory");
  assert(low | high);
  return 0;
}
