// expect: assertion lost lost kept kept
// flags: --checks crash --pm-heap --pm-fill zero
/* A hash table's constructor does not flush how large its directory is (Jaaru's bug 2, of CCEH). */
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <landfall.h>

struct segment {
  alignas(64) uint64_t slots[8];
  alignas(64) uint64_t depth;
};
struct table {
  alignas(64) uint64_t depth;
  alignas(64) segment **directory;
  alignas(64) uint64_t capacity;
};

static segment *make_segment() {
  segment *made = static_cast<segment *>(aligned_alloc(64, sizeof(segment)));
  for (uint64_t &slot : made->slots)
    slot = 0;
  lf_persist(made->slots, sizeof made->slots);
  made->depth = 1;
  lf_persist(&made->depth, 8);
  return made;
}

static table *make_table() {
  table *made = static_cast<table *>(aligned_alloc(64, sizeof(table)));
  made->depth = 1;
  lf_persist(&made->depth, 8);
  made->capacity = 2; //~ lost
  made->directory = static_cast<segment **>(aligned_alloc(64, 64));
  lf_persist(&made->directory, 8);
  made->directory[0] = make_segment();
  made->directory[1] = make_segment();
  lf_persist(made->directory, 16);
  return made;
}

int main() {
  void **root = lf_root(0);
  if (table *found = static_cast<table *>(*root)) {
    assert(found->capacity == 2);
    assert(found->directory);
    assert(found->directory[1]->depth == 1);
    return 0;
  }
  table *made = make_table();
  *root = made; //~ kept
  lf_persist(root, 8);
  return 0;
}
