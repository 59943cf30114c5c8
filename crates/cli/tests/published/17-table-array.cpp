// expect: segfault lost lost kept kept
// flags: --checks crash --pm-heap
/* The array of a hash table is cleared and not flushed (Jaaru's bug 17, of P-CLHT). */
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <landfall.h>

struct bucket {
  uint64_t key;
  bucket *next;
};

struct hash {
  alignas(64) bucket *buckets;
  uint64_t count;
};

int main() {
  void **root = lf_root(0);
  if (hash *found = static_cast<hash *>(*root)) {
    uint64_t keys = 0;
    for (uint64_t i = 0; i < found->count; i++)
      for (bucket *at = &found->buckets[i]; at; at = at->next)
        keys += at->key;
    return keys > 9;
  }
  bucket *buckets = static_cast<bucket *>(aligned_alloc(64, 4 * sizeof(bucket)));
  memset(buckets, 0, 4 * sizeof(bucket)); //~ lost
  hash *made = static_cast<hash *>(aligned_alloc(64, sizeof(hash)));
  made->buckets = buckets;
  made->count = 4;
  lf_persist(made, sizeof *made);
  *root = made; //~ kept
  lf_persist(root, 8);
  return 0;
}
