// The same in Intel's dialect, by option of the compiler and by directive.
// options: -masm=intel
#include "pm.h"

int main(void) {
  char *p = pm(0);
  __asm__ volatile("clflush byte ptr [%0]" ::"r"(p) : "memory");
  __asm__ volatile("clflushopt [%0]" ::"r"(p + 64) : "memory");
  __asm__ volatile("clwb [%0 + 64]" ::"r"(p + 64) : "memory");
  __asm__ volatile("clwb %0" ::"m"(p[192]) : "memory");
  __asm__ volatile("sfence\n\tmfence");
  int one = 1;
  __asm__ volatile("lock xadd %0, %1" : "+m"(*(int *)p), "+r"(one) : : "memory", "cc");
  assert(one == 0);
  __asm__ volatile("lock add dword ptr [%0 + 4], 7" ::"r"(p) : "memory", "cc");
  __asm__ volatile("mov %0, %1" : "=m"(*(long *)(p + 8)) : "r"(5L));
  assert(*(int *)p == 1 && *(int *)(p + 4) == 7 && *(long *)(p + 8) == 5);
  return 0;
}
