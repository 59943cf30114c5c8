// expect: assertion lost lost kept kept
// flags: --checks crash --pm-heap --pm-fill zero
/* What a pointer points to is flushed instead of the pointer (Jaaru's bug 18, of P-Masstree). */
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <landfall.h>

struct layer {
  alignas(64) uint64_t *leaf;
};

int main() {
  void **root = lf_root(0);
  if (layer *found = static_cast<layer *>(*root)) {
    assert(found->leaf);
    return 0;
  }
  layer *made = static_cast<layer *>(aligned_alloc(64, sizeof(layer)));
  uint64_t *leaf = static_cast<uint64_t *>(calloc(8, 8));
  made->leaf = leaf; //~ lost
  lf_persist(made->leaf, 64); /* &made->leaf was meant */
  *root = made; //~ kept
  lf_persist(root, 8);
  return 0;
}
