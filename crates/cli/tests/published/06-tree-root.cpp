// expect: assertion lost lost kept kept
// flags: --checks crash --pm-heap --pm-fill zero
/* A tree's constructor does not flush its root (Jaaru's bug 6, of FAST_FAIR). */
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <landfall.h>

struct tree {
  alignas(64) uint64_t height;
  alignas(64) uint64_t *root;
};

int main() {
  void **root = lf_root(0);
  if (tree *found = static_cast<tree *>(*root)) {
    assert(found->height == 1);
    assert(found->root);
    return 0;
  }
  tree *made = static_cast<tree *>(aligned_alloc(64, sizeof(tree)));
  made->height = 1;
  lf_persist(&made->height, 8);
  made->root = static_cast<uint64_t *>(calloc(1, 64)); //~ lost
  *root = made; //~ kept
  lf_persist(root, 8);
  return 0;
}
