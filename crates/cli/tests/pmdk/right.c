/* Finds a pool that somebody else made, and uses the library as it is meant to be. */
#include <assert.h>
#include <libpmemobj.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  struct pool *pool = pmemobj_open("pools/one", "a layout");
  if (!pool)
    return 1;
  assert(strcmp(pmemobj_version(), "0.1") == 0);
  assert(!pool->valid || pool->value == 7);
  pool->value = 7;
#ifndef FORGOTTEN
  pmemobj_persist(pool, &pool->value, sizeof pool->value);
#endif
  pool->valid = 1;
  pmemobj_persist(pool, &pool->valid, sizeof pool->valid);
  return 0;
}
