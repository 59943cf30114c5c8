// expect: assertion lost lost kept kept
// flags: --checks crash
/* A loop that is to flush an object goes over the variable that points to it, and flushes its own counter (Level Hashing's
 * `level_init`). */
#include <assert.h>
#include <emmintrin.h>
#include <landfall.h>
#include <stdint.h>

struct table {
  uint64_t capacity, seeds[2];
};

static struct table *make(struct table *memory) {
  struct table *table = memory;
  table->capacity = 4; //~ lost
  uint64_t *at = (uint64_t *)&table;
  for (; at < (uint64_t *)&table + sizeof(struct table); at += 8)
    _mm_clflush(&at);
  return table;
}

int main(void) {
  struct table **root = (struct table **)lf_root(0);
  struct table *memory = lf_pm(128);
  if (lf_failures()) {
    assert(!*root || (*root)->capacity);
    return 0;
  }
  struct table *made = make(memory + 2);
  *root = made; //~ kept
  lf_persist(root, sizeof *root);
  return 0;
}
