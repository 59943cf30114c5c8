// The fs and gs segments hold thread data: left alone.
#include "pm.h"

int main(void) {
  uintptr_t self = *(uintptr_t __attribute__((address_space(257))) *)0;
  uintptr_t by_assembly;
  __asm__("movq %%fs:0, %0" : "=r"(by_assembly));
  assert(self == by_assembly);
  *(int *)pm(0) = 1;
  return 0;
}
