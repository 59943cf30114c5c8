// expect: assertion lost lost kept kept
// flags: --checks crash --pm-heap --pm-fill zero
/* An index's constructor flushes its mapping table and not the number of its first leaf (Jaaru's bug 14, of P-BwTree). */
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <landfall.h>

struct index {
  alignas(64) uint64_t first_leaf;
  alignas(64) uint64_t mapping[8];
};

int main() {
  void **root = lf_root(0);
  if (index *found = static_cast<index *>(*root)) {
    assert(found->mapping[found->first_leaf] == 7);
    return 0;
  }
  index *made = static_cast<index *>(aligned_alloc(64, sizeof(index)));
  made->first_leaf = 2; //~ lost
  made->mapping[2] = 7;
  lf_persist(made->mapping, 64);
  *root = made; //~ kept
  lf_persist(root, 8);
  return 0;
}
