// expect: assertion lost lost kept kept
// flags: --checks crash --pm-heap --pm-fill zero
/* A radix tree's constructor does not flush what its root node is (Jaaru's bug 8, of P-ART). */
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <landfall.h>

struct tree {
  alignas(64) uint64_t type;
};

int main() {
  void **root = lf_root(0);
  if (tree *found = static_cast<tree *>(*root)) {
    assert(found->type == 4 || found->type == 256);
    return 0;
  }
  tree *made = static_cast<tree *>(aligned_alloc(64, sizeof(tree)));
  made->type = 4; //~ lost
  *root = made; //~ kept
  lf_persist(root, 8);
  return 0;
}
