/* Two accounts and an undo log. Recovery may be interrupted by a power failure, too.
 *
 * Recovery puts the old amounts back, makes them durable, and only then disarms the log: if the power fails in between,
 * the next recovery simply does it all again. */
#include <assert.h>
#include <landfall.h>
#include <stdint.h>

struct bank {
  _Alignas(64) uint64_t from;
  _Alignas(64) uint64_t to;
  _Alignas(64) uint64_t armed;
  uint64_t old_from, old_to; /* on the line of the flag */
};

enum { ALL = 100 };

static void recover(struct bank *b) {
  if (!b->armed)
    return;
  b->from = b->old_from;
  b->to = b->old_to;
  lf_flush(&b->from, sizeof b->from);
  lf_flush(&b->to, sizeof b->to);
  lf_fence();
  __atomic_store_n(&b->armed, 0, __ATOMIC_RELEASE);
  lf_persist(&b->armed, sizeof b->armed);
}

static void transfer(struct bank *b, uint64_t amount) {
  b->old_from = b->from;
  b->old_to = b->to;
  __atomic_store_n(&b->armed, 1, __ATOMIC_RELEASE); /* after them on their line, so never without them */
  lf_persist(&b->armed, 3 * sizeof b->armed);
  b->from -= amount;
  lf_persist(&b->from, sizeof b->from);
  b->to += amount;
  lf_persist(&b->to, sizeof b->to);
  __atomic_store_n(&b->armed, 0, __ATOMIC_RELEASE);
  lf_persist(&b->armed, sizeof b->armed);
}

int main(void) {
  struct bank *b = lf_pm(sizeof *b);
  recover(b);
  if (b->from == 0) { /* the first start */
    __atomic_store_n(&b->from, ALL, __ATOMIC_RELEASE);
    lf_persist(&b->from, sizeof b->from);
  }
  assert(b->from + b->to == ALL);
  if (b->from == ALL)
    transfer(b, 10);
  return 0;
}
