// expect: missing-snapshot at seen unadded seen
/* Recovery can see that the mark was stored though its transaction was at work, and never fails for it. What is fresh needs no snapshot:
 * nothing leads there before the end. */
#include <landfall.h>
#include <stdint.h>

struct pool {
  _Alignas(64) _Atomic uint64_t root; /* after the end: what leads to fresh */
  _Alignas(64) _Atomic uint64_t mark;
  _Alignas(64) _Atomic uint64_t fresh;
};

int main(void) {
  struct pool *pool = lf_pm(sizeof *pool);
  if (lf_failures())
    return pool->root ? pool->fresh == 77 : pool->mark == 77; /* 77 is never stored: recovery always ends well */
  lf_tx_begin();
  lf_tx_begin(); /* a level more */
  pool->fresh = 5;
  lf_persist((void *)&pool->fresh, 8);
  pool->mark = 6; //~ seen
  lf_persist((void *)&pool->mark, 8);
  lf_tx_end();
  lf_tx_end();
  pool->root = 1;
  lf_persist((void *)&pool->root, 8);
  return 0;
}
