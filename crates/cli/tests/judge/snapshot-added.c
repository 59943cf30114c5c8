// expect: clean
/* All that a recovery can see is added, before or long before; what is stored after the end needs nothing. */
#include <landfall.h>
#include <stdint.h>

struct pool {
  _Alignas(64) _Atomic uint64_t root;
  _Alignas(64) _Atomic uint64_t mark;
};

int main(void) {
  struct pool *pool = lf_pm(sizeof *pool);
  if (lf_failures())
    return pool->root == 77 || pool->mark == 77;
  lf_tx_begin();
  lf_tx_add(pool, sizeof *pool);
  pool->mark = 6;
  lf_persist((void *)&pool->mark, 8);
  lf_tx_end();
  pool->root = 1;
  lf_persist((void *)&pool->root, 8);
  return 0;
}
