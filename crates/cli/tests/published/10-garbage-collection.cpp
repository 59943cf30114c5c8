// expect: assertion at checked
// flags: --checks crash
/* A node is taken out of a list of garbage in two steps, and the power fails between them: no flush is missing (Jaaru's bug 10, of
 * P-BwTree). */
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <landfall.h>

struct garbage {
  alignas(64) uint64_t head;
  alignas(64) uint64_t count;
};

int main() {
  garbage *list = static_cast<garbage *>(lf_pm(sizeof(garbage)));
  if (lf_failures()) {
    assert((list->head == 0) == (list->count == 0)); //~ checked
    return 0;
  }
  list->head = 5;
  lf_persist(&list->head, 8);
  list->count = 1;
  lf_persist(&list->count, 8);
  return 0;
}
