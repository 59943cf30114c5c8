// snapshot
#include <stddef.h>
void lf_tx_add(const void *p, size_t n);

struct log { size_t n; };

static void remember(struct log *log, const void *p, size_t n) {
  log->n++;
  lf_tx_add(p, n);
}

void set(struct log *log, long *a, long b) {
  remember(log, &a[0], sizeof a[0]);
  a[0] = b;
  /*@*/a[1] = b;
}
