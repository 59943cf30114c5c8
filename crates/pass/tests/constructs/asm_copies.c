// Copies past the caches written as assembly, with scratch registers between load and store.
// options: -mavx
// needs: avx
#include "pm.h"

static void copy_word(void *to, int value) {
  __asm__ volatile("movl %0, %%eax\n"
                   "movnti %%eax, (%1)\n"
                   "sfence\n"
                   :
                   : "r"(value), "r"(to)
                   : "eax", "memory");
}

static void copy_line(void *to, const void *from) {
  __asm__ volatile("prefetchnta 64(%0)\n"
                   "movq (%0), %%r8\n"
                   "movq 8(%0), %%r9\n"
                   "movnti %%r8, (%1)\n"
                   "movnti %%r9, 8(%1)\n"
                   "movdqu 16(%0), %%xmm0\n"
                   "movntdq %%xmm0, 16(%1)\n"
                   "vmovdqu 32(%0), %%ymm1\n"
                   "vmovntdq %%ymm1, 32(%1)\n"
                   :
                   : "r"(from), "r"(to)
                   : "memory", "r8", "r9", "xmm0", "xmm1");
}

int main(void) {
  long source[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  copy_word(pm(0), 7);
  copy_line(pm(64), source);
  copy_line(pm(128), pm(64));
  assert(memcmp(pm(128), source, 64) == 0);
  long local[8] __attribute__((aligned(32)));
  copy_line(local, pm(128));
  assert(local[7] == 8);
  return 0;
}
