// expect: assertion lost lost kept kept
// flags: --checks crash
// says: `header` has 40 bytes and begins 32 bytes into a line: `last`, 34 bytes from its start, is on the next one
/* A node is one byte too large for its line's neighbours: what a header says last is on the next line, and only the first is flushed
 * (FAST_FAIR's header). */
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <landfall.h>

struct header {
  uint64_t left, sibling, lock, level;
  uint8_t switches;
  int16_t last;
};

int main() {
  char *memory = static_cast<char *>(lf_pm(256));
  header *node = reinterpret_cast<header *>(memory + 32); /* what malloc gives is aligned to 16, not to 64 */
  uint64_t *root = reinterpret_cast<uint64_t *>(memory + 192);
  if (lf_failures()) {
    assert(!*root || node->last == -1);
    return 0;
  }
  node->left = 0;
  node->last = -1; //~ lost
  lf_persist(node, 8); /* as if all of it were on one line */
  *root = 1; //~ kept
  lf_persist(root, 8);
  return 0;
}
