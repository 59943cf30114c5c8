// snapshot
#include <stddef.h>
void lf_tx_add(const void *p, size_t n);

static void remember(const void *p, size_t n) {
  lf_tx_add(p, n);
}

void set(long *a, long b) {
  remember(&a[0], sizeof a[0]);
  a[0] = b;
  /*@*/a[1] = b;
}
