// Locked instructions with their results: values, flags by setcc, flags as outputs.
#include "pm.h"

int main(void) {
  int *word = pm(0);
  long *wide = pm(8);
  char *byte = pm(16);
  short *half = pm(18);

  __asm__ volatile("lock; addl %1,%0" : "+m"(*word) : "ir"(5) : "cc");
  __asm__ volatile("lock subq %1,%0" : "+m"(*wide) : "er"(3L) : "memory", "cc");
  __asm__ volatile("lock; incw %0" : "+m"(*half)::"cc");
  __asm__ volatile("lock; decb %0" : "+m"(*byte)::"cc");
  __asm__ volatile("lock orl %1, %0" : "+m"(*word) : "r"(8) : "cc");
  __asm__ volatile("lock; andl %1, (%0)" ::"r"(word), "r"(12) : "memory", "cc");
  assert(*word == 12 && *wide == -3 && *half == 1 && *byte == -1);

  int added = 7;
  __asm__ volatile("lock; xaddl %0, %1" : "+r"(added), "+m"(*word) : : "memory", "cc");
  assert(added == 12 && *word == 19);

  long swapped = 99;
  __asm__ volatile("xchgq %0, %1" : "+r"(swapped), "+m"(*wide) : : "memory");
  assert(swapped == -3 && *wide == 99);

  int old;
  __asm__ volatile("lock; cmpxchgl %2,%1" : "=a"(old), "+m"(*word) : "r"(20), "0"(19) : "memory");
  assert(old == 19 && *word == 20);

  unsigned char done;
  long expected = 98;
  __asm__ volatile("lock; cmpxchgq %3,%1; sete %0" : "=q"(done), "+m"(*wide), "+a"(expected) : "r"(1L) : "memory", "cc");
  assert(!done && expected == 99 && *wide == 99);

  bool zero;
  __asm__ volatile("lock; decl %0" : "+m"(*word), "=@ccz"(zero) : : "memory");
  assert(!zero && *word == 19);
  __asm__ volatile("lock; subl %2, %0; setz %1" : "+m"(*word), "=qm"(zero) : "ir"(19) : "memory");
  assert(zero && *word == 0);

  bool was_set;
  __asm__ volatile("lock; btsq %2,%0" : "+m"(*wide), "=@ccc"(was_set) : "Ir"(96L) : "memory");
  assert(!was_set && *(int *)pm(20) == 1);
  __asm__ volatile("lock; btrl %2,%0\n\tsetc %1" : "+m"(*word), "=q"(was_set) : "r"(4) : "memory");
  assert(!was_set);
  return 0;
}
