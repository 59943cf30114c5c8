#include <immintrin.h>
#include <landfall.h>
/* Assembly the pass does not take apart: each access is an event of its line, none is foreign. */
int main(void) {
  char *p = lf_pm(4096), *to = p, *from = p + 1024;
  long count = 24;
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(7) : "memory");
  count = 3, to = p + 64;
  __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(count)::"memory");
  __asm__ volatile("vmovntdq %1, (%0)" ::"r"(p + 128), "x"(_mm_set1_epi8(3)) : "memory");
  __asm__ volatile("movq %1, %%mm0; movntq %%mm0, (%0); emms" ::"r"(p + 192), "m"(*(long *)(p + 256)) : "memory");
  __asm__ volatile("incq (%0); bswapq %1; movq %1, 8(%0)" ::"r"(p + 320), "r"(1L) : "memory");
  __asm__ volatile("xorl %%eax, %%eax; 1: addl (%0,%%rax,4), %%ecx; incl %%eax; cmpl $3, %%eax; jne 1b"
                   ::"r"(p + 384) : "rax", "rcx", "memory");
  lf_persist(p, 512);
  return 0;
}
