// flags: --pm-heap --checks crash
// expect: uninitialised at flag
// says: the block of 16 bytes that was allocated at
/* Nothing fails: recovery only does one thing or another, by a field that nobody set. */
#include <landfall.h>
#include <stdlib.h>

struct entry {
  _Atomic long key, dirty;
};

int main(void) {
  _Atomic(struct entry *) *root = lf_pm(64);
  _Atomic long *repaired = (_Atomic long *)(root + 1);
  struct entry *found = *root;
  if (found) {
    if (found->dirty) //~ flag
      *repaired = 1;
    return 0;
  }
  struct entry *entry = malloc(sizeof *entry);
  entry->key = 1;
  lf_persist(entry, sizeof *entry);
  *root = entry;
  lf_persist(root, sizeof *root);
}
