// snapshot
#include <stddef.h>
void lf_tx_add(const void *p, size_t n);

void set(long *a, long b) {
  lf_tx_add(&a[0], sizeof a[0]);
  a[0] = b;
  /*@*/a[1] = b;
}
