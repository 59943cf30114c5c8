/* A map of PMDK's examples: KEYS keys are there, two more are inserted (or REMOVE of them removed), the power fails. Compiled with that
 * example's own sources; -DMAP_HEADER and -DMAP_OPS say which map, -DINIT that the pool is to be made, -DASCENDING that keys grow. */
#include MAP_HEADER
#include <assert.h>
#include <libpmemobj.h>
#include <map.h>
#include <stdio.h>

POBJ_LAYOUT_BEGIN(bench);
POBJ_LAYOUT_ROOT(bench, struct root);
POBJ_LAYOUT_END(bench);

struct root {
  TOID(struct map) map;
};

#ifdef ASCENDING
static uint64_t key(unsigned number) { return number + 1; }
#else
/* Neither ascending nor descending. */
static uint64_t key(unsigned number) { return number * 7u % 23 + 1; }
#endif

int main(void) {
#ifdef INIT
  PMEMobjpool *pool = pmemobj_create("pools/map", POBJ_LAYOUT_NAME(bench), PMEMOBJ_MIN_POOL, 0600);
#else
  PMEMobjpool *pool = pmemobj_open("pools/map", POBJ_LAYOUT_NAME(bench));
#endif
  if (!pool)
    return 2;
  struct map_ctx *context = map_ctx_init(MAP_OPS, pool);
  PMEMoid value = pmemobj_root(pool, sizeof(struct root)); /* any object will do */
  struct root *root = pmemobj_direct(value);
#ifdef INIT
  if (map_create(context, &root->map, NULL))
    return 3;
  pmemobj_persist(pool, root, sizeof *root);
  for (unsigned number = 0; number < KEYS; number++)
    if (map_insert(context, root->map, key(number), value))
      return 4;
#else
  map_init(context, root->map);
  assert(map_check(context, root->map) == 0);
#ifdef REMOVE
  unsigned gone = 0;
  for (unsigned number = 0; number < KEYS; number++) {
    int found = map_lookup(context, root->map, key(number));
    assert(found || number < REMOVE);
    assert(found || gone == number); /* in the order in which they were removed */
    gone += found == 0;
  }
  assert(!context->ops->count || map_count(context, root->map) == KEYS - gone);
  for (unsigned number = gone; number < REMOVE; number++)
    if (OID_IS_NULL(map_remove(context, root->map, key(number))))
      return 5;
#else
  unsigned there = 0;
  for (unsigned number = 0; number < KEYS + 2; number++) {
    int found = map_lookup(context, root->map, key(number));
    assert(found || number >= KEYS);
    assert(!found || there == number); /* in the order in which they were inserted */
    there += found != 0;
  }
  assert(!context->ops->count || map_count(context, root->map) == there);
  for (unsigned number = there; number < KEYS + 2; number++)
    if (map_insert(context, root->map, key(number), value))
      return 5;
#endif
#endif
  map_ctx_free(context);
  pmemobj_close(pool);
  return 0;
}
