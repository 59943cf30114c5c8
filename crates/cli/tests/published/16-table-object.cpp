// expect: assertion lost lost kept kept
// flags: --checks crash --pm-heap --pm-fill zero
/* The object of a hash table is not flushed, its buckets are (Jaaru's bug 16, of P-CLHT). */
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <landfall.h>

struct hash {
  alignas(64) uint64_t *buckets;
  uint64_t count;
};

int main() {
  void **root = lf_root(0);
  if (hash *found = static_cast<hash *>(*root)) {
    assert(found->count == 8);
    assert(found->buckets);
    return 0;
  }
  hash *made = static_cast<hash *>(aligned_alloc(64, sizeof(hash)));
  uint64_t *buckets = static_cast<uint64_t *>(calloc(8, 8));
  lf_persist(buckets, 64);
  made->buckets = buckets;
  made->count = 8; //~ lost
  *root = made; //~ kept
  lf_persist(root, 8);
  return 0;
}
