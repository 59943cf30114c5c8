// expect: assertion lost lost kept kept
// flags: --checks crash --pm-heap --pm-fill zero
/* A hash table's constructor does not flush which table is the current one (Jaaru's bug 15, of P-CLHT). */
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <landfall.h>

struct hash {
  alignas(64) uint64_t *current;
  alignas(64) uint64_t version;
};

int main() {
  void **root = lf_root(0);
  if (hash *found = static_cast<hash *>(*root)) {
    assert(found->version == 1 && found->current);
    return 0;
  }
  hash *made = static_cast<hash *>(aligned_alloc(64, sizeof(hash)));
  made->version = 1;
  lf_persist(&made->version, 8);
  made->current = static_cast<uint64_t *>(calloc(8, 8)); //~ lost
  *root = made; //~ kept
  lf_persist(root, 8);
  return 0;
}
