// expect: segfault lost lost kept kept
// flags: --checks crash --pm-heap
/* The constructors of a node's entries clear them and nobody flushes that: a search that stops at the first empty entry does not stop (Jaaru's
 * bug 5, of FAST_FAIR). */
#include <cstdint>
#include <cstdlib>
#include <landfall.h>

struct entry {
  uint64_t key;
  uint64_t *value;
};

struct page {
  alignas(64) uint64_t count;
  alignas(64) entry entries[4];
};

int main() {
  void **root = lf_root(0);
  if (page *found = static_cast<page *>(*root)) {
    uint64_t sum = found->count;
    for (int i = 0; i < 4 && found->entries[i].value; i++)
      sum += *found->entries[i].value;
    return sum > 9;
  }
  page *made = static_cast<page *>(aligned_alloc(64, sizeof(page)));
  for (int i = 0; i < 4; i++)
    made->entries[i].value = nullptr; //~ lost
  made->count = 0;
  lf_persist(&made->count, 8);
  *root = made; //~ kept
  lf_persist(root, 8);
  return 0;
}
