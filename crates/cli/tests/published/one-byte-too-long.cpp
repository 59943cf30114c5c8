// expect: assertion lost lost kept kept
// flags: --checks crash
// says: `entry` has 16 bytes and begins 56 bytes into a line: `pointer`, 8 bytes from its start, is on the next one
// says: "members":["pointer"],"primary":false,"struct":"entry"
/* What comes before the entries is one byte longer than the sixteen that it should have: some entries are on two lines, and only the first is flushed
 * (FAST_FAIR's `dummy`). */
#include <cassert>
#include <cstdint>
#include <landfall.h>

struct entry {
  uint64_t key, pointer;
};

struct node {
  uint64_t left;
  uint8_t level, dummy[8];
  entry entries[6];
};

int main() {
  node *n = static_cast<node *>(lf_pm(256));
  if (lf_failures()) {
    assert(!n->entries[2].key || n->entries[2].pointer == 7);
    return 0;
  }
  entry *e = &n->entries[2];
  e->pointer = 7; //~ lost
  lf_persist(e, 8);
  e->key = 7; //~ kept
  lf_persist(e, 8);
}
