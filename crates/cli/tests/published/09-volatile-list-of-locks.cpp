// expect: assertion
// flags: --checks crash
/* Which nodes are locked is noted in a list that does not survive: after a power failure nobody unlocks them (Jaaru's bug 9, of P-ART). */
#include <cassert>
#include <cstdint>
#include <landfall.h>
#include <vector>

struct node {
  uint64_t locked;
  alignas(64) uint64_t value;
};

static std::vector<node *> locked; /* empty after a power failure */

int main() {
  node *one = static_cast<node *>(lf_pm(sizeof(node)));
  for (node *left : locked)
    left->locked = 0;
  assert(!one->locked);
  one->locked = 1;
  lf_persist(&one->locked, 8);
  locked.push_back(one);
  one->value++;
  lf_persist(&one->value, 8);
  one->locked = 0;
  lf_persist(&one->locked, 8);
  return 0;
}
