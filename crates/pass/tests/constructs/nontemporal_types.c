// The processor has non-temporal stores of words and of aligned vectors; for all else the compiler takes an ordinary one.
#include "pm.h"

typedef int vector __attribute__((vector_size(16)));
typedef int unaligned __attribute__((vector_size(16), aligned(4)));

int main(void) {
  __builtin_nontemporal_store((char)1, (char *)pm(0));
  __builtin_nontemporal_store((short)2, (short *)pm(8));
  __builtin_nontemporal_store(3, (int *)pm(16));
  __builtin_nontemporal_store(4L, (long *)pm(24));
  __builtin_nontemporal_store(5.0f, (float *)pm(32));
  __builtin_nontemporal_store(6.0, (double *)pm(40));
  __builtin_nontemporal_store((void *)pm(0), (void **)pm(48));
  __builtin_nontemporal_store((vector){1, 2, 3, 4}, (vector *)pm(64));
  __builtin_nontemporal_store((unaligned){5, 6, 7, 8}, (unaligned *)pm(84));
  return 0;
}
