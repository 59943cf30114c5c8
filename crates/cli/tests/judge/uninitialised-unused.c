// flags: --pm-heap --checks crash
// expect: clean
/* Bytes that nobody wrote are read and copied, but decide nothing. What calloc gives is written. */
#include <landfall.h>
#include <stdlib.h>

struct entry {
  _Atomic long key, spare;
};

int main(void) {
  _Atomic(struct entry *) *root = lf_pm(64);
  _Atomic long *copy = (_Atomic long *)(root + 1);
  struct entry *found = *root;
  if (found) {
    *copy = found->spare;
    if (found[1].key)
      *copy = 1;
    return 0;
  }
  struct entry *entry = calloc(2, sizeof *entry);
  struct entry *other = malloc(2 * sizeof *other);
  other->key = 1;
  other[1].key = 0;
  lf_persist(other, 2 * sizeof *other);
  lf_persist(entry, 2 * sizeof *entry);
  *root = lf_failures() ? entry : other;
  lf_persist(root, sizeof *root);
}
