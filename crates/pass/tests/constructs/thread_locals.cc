// Thread-local objects with constructors, and references to them.
#include "pm.h"

struct Counter {
  int n;
  Counter() : n(static_cast<int *>(pm(0))[0]) {}
};
static thread_local Counter counter;

int main() {
  *static_cast<int *>(pm(0)) = 4;
  counter.n++;
  static_cast<int *>(pm(0))[1] = counter.n;
  assert(static_cast<int *>(pm(0))[1] == 5);
  return 0;
}
