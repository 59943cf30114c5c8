// expect: assertion lost lost kept kept
// flags: --checks crash --pm-heap --pm-fill zero
/* Where an allocation may grow to is not flushed by its constructor (Jaaru's bug 13, of P-BwTree). */
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <landfall.h>

struct allocation {
  alignas(64) uint64_t tail;
  alignas(64) uint64_t limit;
};

int main() {
  void **root = lf_root(0);
  if (allocation *found = static_cast<allocation *>(*root)) {
    assert(found->tail <= found->limit);
    return 0;
  }
  allocation *made = static_cast<allocation *>(aligned_alloc(64, sizeof(allocation)));
  made->tail = 64;
  lf_persist(&made->tail, 8);
  made->limit = 512; //~ lost
  *root = made; //~ kept
  lf_persist(root, 8);
  return 0;
}
