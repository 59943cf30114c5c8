// durable
#include <stdint.h>
static inline void clflush(char *data, int len, _Bool front, _Bool back) {
  if (front)
    asm volatile("mfence" ::: "memory");
  for (char *p = (char *)((unsigned long)data & ~63ul); p < data + len; p += 64)
    asm volatile("clflush %0" : "+m"(*(volatile char *)p));
  if (back)
    asm volatile("mfence" ::: "memory");
}
struct root { uint64_t a, b; };
void f(struct root *r) {
  r->a /*@*/= 1;
  r->b = 2;
  clflush((char *)&r->b, sizeof(r->b), 0, 1);
}
