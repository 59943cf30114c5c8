// expect: missing-snapshot at early unadded early
/* What is added to a transaction when it has been stored to is undone to what was stored: recovery fails, and what is missing is the line
 * before the first store. */
#include <assert.h>
#include <landfall.h>
#include <stdint.h>

struct pool {
  _Alignas(64) _Atomic uint64_t value;
  _Alignas(64) _Atomic uint64_t logged; /* the log: what value was, and whether it is to be put back */
  _Atomic uint64_t valid;
};

static void snapshot(struct pool *pool) {
  lf_tx_add((void *)&pool->value, 8);
  lf_tx_add((void *)&pool->logged, 16);
  pool->logged = pool->value;
  pool->valid = 1;
  lf_persist((void *)&pool->logged, 16);
}

int main(void) {
  struct pool *pool = lf_pm(sizeof *pool);
  if (lf_failures()) {
    if (pool->valid)
      pool->value = pool->logged;
    assert(pool->value != 1);
    return 0;
  }
  lf_tx_begin();
  pool->value = 1; //~ early
  snapshot(pool);
  pool->value = 2;
  lf_persist((void *)&pool->value, 8);
  lf_tx_end();
  pool->valid = 0;
  lf_persist((void *)&pool->valid, 8);
  return 0;
}
