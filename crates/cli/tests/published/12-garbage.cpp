// expect: assertion lost lost kept kept
// flags: --checks crash --pm-heap --pm-fill zero
/* What an index keeps of its garbage is not flushed, the pointer to it is (Jaaru's bug 12, of P-BwTree). */
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <landfall.h>

struct index {
  alignas(64) uint64_t *garbage;
};

int main() {
  void **root = lf_root(0);
  if (index *found = static_cast<index *>(*root)) {
    assert(found->garbage[0] == 3);
    return 0;
  }
  index *made = static_cast<index *>(aligned_alloc(64, sizeof(index)));
  uint64_t *garbage = static_cast<uint64_t *>(aligned_alloc(64, 64));
  garbage[0] = 3; //~ lost
  made->garbage = garbage;
  lf_persist(&made->garbage, 8);
  *root = made; //~ kept
  lf_persist(root, 8);
  return 0;
}
