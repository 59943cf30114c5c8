// Flushes and fences in the spellings of inline assembly found in the wild.
#include "pm.h"

static void pmdk(char *p) {
  __asm__ volatile("clflush %0" : "+m"(*(volatile char *)p));
  __asm__ volatile(".byte 0x66; clflush %0" : "+m"(*(volatile char *)p));
  __asm__ volatile(".byte 0x66; xsaveopt %0" : "+m"(*(volatile char *)p));
  __asm__ volatile("sfence" ::: "memory");
}

static void kernel(char *p) {
  __asm__ volatile(".byte 0x3e; clflush %0" : "+m"(*(volatile char *)p));
  __asm__ volatile(".byte 0x3e; clflush (%[pax])" : [p] "+m"(*p) : [pax] "a"(p));
  __asm__ volatile(".byte 0x66; clflush (%[pax])" : [p] "+m"(*p) : [pax] "a"(p));
  __asm__ volatile(".byte 0x66, 0x0f, 0xae, 0x30" : [p] "+m"(*p) : [pax] "a"(p));
}

static void in_registers(char *p) {
  __asm__ volatile("clflush (%0)" ::"r"(p) : "memory");
  __asm__ volatile("clflushopt (%0)\n\t" ::"r"(p) : "memory");
  __asm__ volatile("clwb 64(%0)" ::"r"(p) : "memory");
  __asm__ volatile("clwb (%0,%1,8)" ::"r"(p), "r"(16L) : "memory");
  __asm__ volatile("clwb %a0" ::"r"(p) : "memory");
  __asm__ volatile("clflush (%%rdi)" ::"D"(p) : "memory");
}

static void in_memory(char *p) {
  __asm__ volatile("clflushopt %0" : "+m"(*p));
  __asm__ volatile("clwb %0" ::"m"(*p) : "memory");
  __asm__ volatile("clwb 64+%0" ::"m"(*p) : "memory");
  __asm__ volatile("CLWB %0\n\tSFENCE" ::"m"(*p) : "memory");
}

static void fences(void) {
  __asm__ volatile("sfence");
  __asm__ volatile("mfence" ::: "memory");
  __asm__ volatile("lfence; # a comment\n mfence\n" ::: "memory");
  __asm__ volatile(".byte 0x0f, 0xae, 0xf8");
  __asm__ volatile("lock; addl $0,0(%%rsp)" ::: "memory", "cc");
  __asm__ volatile("lock; orq $0,-8(%%rsp)" ::: "memory", "cc");
}

int main(void) {
  pmdk(pm(0));
  kernel(pm(64));
  in_registers(pm(128));
  in_memory(pm(192));
  fences();
  return 0;
}
