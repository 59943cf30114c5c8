// expect: assertion lost lost kept kept
// flags: --checks crash --pm-heap --pm-fill zero
/* The pointer to an index's garbage is not flushed, what it points to is (Jaaru's bug 11, of P-BwTree). */
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
    assert(found->garbage && found->garbage[0] == 3);
    return 0;
  }
  index *made = static_cast<index *>(aligned_alloc(64, sizeof(index)));
  uint64_t *garbage = static_cast<uint64_t *>(calloc(8, 8));
  garbage[0] = 3;
  lf_persist(garbage, 64);
  made->garbage = garbage; //~ lost
  *root = made; //~ kept
  lf_persist(root, 8);
  return 0;
}
