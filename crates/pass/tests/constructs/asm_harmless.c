// Assembly that concerns nobody: no event, no warning.
#include "pm.h"

int main(void) {
  unsigned low, high, number = 12;
  unsigned short control;
  __asm__ volatile("" ::: "memory");
  __asm__ volatile("pause" ::: "memory");
  __asm__ volatile("rep; nop" ::: "memory");
  __asm__ volatile("nop");
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
  __asm__("bsfl %1, %0" : "=r"(low) : "r"(number));
  assert(low == 2);
  __asm__ volatile("fnstcw %0" : "=m"(control));
  assert(control != 0);
  long sum;
  __asm__ volatile("leaq 8(%1), %0" : "=r"(sum) : "r"(1L));
  assert(sum == 9);
  /* A client request to Valgrind, which is not there: the result is the default. */
  volatile unsigned long request[6];
  request[0] = 0x1001;
  unsigned long result;
  __asm__ volatile("rolq $3, %%rdi ; rolq $13, %%rdi\n\t"
                   "rolq $61, %%rdi ; rolq $51, %%rdi\n\t"
                   "xchgq %%rbx,%%rbx"
                   : "=d"(result)
                   : "a"(&request[0]), "0"(7)
                   : "cc", "memory");
  assert(result == 7);
  return 0;
}
