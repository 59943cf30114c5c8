/* The stores are in a helper: only its callers tell which of them was lost. A whole object is copied, and not flushed. */
#include <assert.h>
#include <landfall.h>
#include <stdint.h>

struct object {
  uint64_t words[6];
};

struct pool {
  _Alignas(64) struct object object;
  _Alignas(64) uint64_t valid;
};

static void set(uint64_t *word, uint64_t value) { *word = value; }

static void fill(struct pool *pool) {
  struct object object = {{1, 2, 3, 4, 5, 6}};
  pool->object = object;
}

int main(void) {
  struct pool *pool = lf_pm(sizeof *pool);
  if (pool->valid)
    assert(pool->object.words[5] == 6);
  fill(pool);
  set(&pool->valid, 1);
  lf_persist(pool, sizeof *pool);
  return 0;
}
