// expect: segfault lost lost kept kept
// flags: --checks crash --pm-heap
/* The constructor of a node's header clears its pointers and does not flush them: seen only where fresh memory is not zero by luck (Jaaru's
 * bug 4, of FAST_FAIR). */
#include <cstdint>
#include <cstdlib>
#include <landfall.h>

struct header {
  alignas(64) uint64_t level;
  alignas(64) header *leftmost;
};

int main() {
  void **root = lf_root(0);
  if (header *found = static_cast<header *>(*root)) {
    for (header *node = found; node; node = node->leftmost)
      if (node->level > 1)
        return 1;
    return 0;
  }
  header *made = static_cast<header *>(aligned_alloc(64, sizeof(header)));
  made->level = 1;
  lf_persist(&made->level, 8);
  made->leftmost = nullptr; //~ lost
  *root = made; //~ kept
  lf_persist(root, 8);
  return 0;
}
