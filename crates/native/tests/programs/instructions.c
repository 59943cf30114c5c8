#include <emmintrin.h>
#include "../support/hooks.h"
/* Single instructions that nobody instrumented, of all kinds: reads before, stores after, each with its width. */
int main(void) {
    char *p = lf_pm(8192);
    long one = 1, got, count = 3;
    void *to = p + 512, *from = p + 640;
    __asm__ volatile("movb $1, (%0)" ::"r"(p) : "memory");
    __asm__ volatile("movzbl 8(%1), %k0" : "=r"(got) : "r"(p));
    __asm__ volatile("addq %1, 16(%0)" ::"r"(p), "r"(one) : "memory");
    __asm__ volatile("cmpw $0, 24(%0)" ::"r"(p) : "cc");
    __asm__ volatile("lock xaddl %k1, 32(%0)" ::"r"(p), "r"(one) : "memory");
    __asm__ volatile("xchgq %1, 40(%0)" : : "r"(p), "r"(one) : "memory");
    __asm__ volatile("movntiq %1, 64(%0)" ::"r"(p), "r"(one) : "memory");
    __asm__ volatile("movntdq %1, 128(%0)" ::"r"(p), "x"(_mm_set1_epi8(7)) : "memory");
    __asm__ volatile("movdqu 192(%0), %%xmm0" ::"r"(p) : "xmm0");
    __asm__ volatile("movsd %%xmm0, 256(%0)" ::"r"(p) : "memory");
    __asm__ volatile("fldl 320(%0); fstpl 328(%0)" ::"r"(p) : "memory"); /* widths unknown: a line is read */
    __asm__ volatile("clflush 384(%0)" ::"r"(p) : "memory");
    __asm__ volatile(".byte 0x66; clflush (%0)" ::"r"(p + 448) : "memory"); /* clflushopt */
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(9) : "memory");
    count = 2, to = p + 576;
    __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(count)::"memory");
    to = p + 592;
    __asm__ volatile("movsl" : "+D"(to), "+S"(from)::"memory");
    count = 2, to = p + 712;
    __asm__ volatile("rep stosq" : "+D"(to), "+c"(count) : "a"(0x1234) : "memory");
    __asm__ volatile("std; rep stosw; cld" : "+D"(to), "+c"(count) : "a"(0) : "memory"); /* nothing left to do */
    __asm__ volatile("push 768(%0); pop 776(%0)" ::"r"(p) : "memory");
    __asm__ volatile("movups %%xmm0, 4088(%0)" ::"r"(p) : "memory", "xmm0"); /* across two pages */
    return (int)count;
}
