// The same with the flush that looks redundant asked for: it is kept, since it is needed where blocks lie otherwise.
// fix: --perf
// exit: 100
// says: it is needed with the persistent heap's blocks moved by
#include <assert.h>
#include <landfall.h>
#include <new>
#include <stddef.h>
struct Bucket {
  long depth;
  long keys[8];
};
struct Table {
  Bucket **slots;
  size_t count;
  explicit Table(size_t n) : count(n) {
    slots = (Bucket **)lf_alloc(n * sizeof(Bucket *));
    for (size_t i = 0; i < n; i++) {
      slots[i] = (Bucket *)lf_alloc(sizeof(Bucket));
      slots[i]->depth = 1;
    }
    lf_persist(slots, n * sizeof *slots);
  }
};
int main() {
  Table **root = (Table **)lf_root(0);
  if (lf_failures()) {
    if (Table *table = *root)
      for (size_t i = 9; i < 11; i++)
        assert(table->slots[i]->keys[0] == 0);
    return 0;
  }
  Table *table = new (lf_alloc(sizeof(Table))) Table(16);
  lf_persist(table, sizeof *table);
  __atomic_store_n(root, table, __ATOMIC_RELEASE);
  lf_persist(root, sizeof *root);
}
