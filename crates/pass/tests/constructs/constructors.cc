// Global constructors and destructors, and static locals with their guard.
#include "pm.h"

struct Registered {
  int slot;
  explicit Registered(int s) : slot(s) { static_cast<int *>(pm(0))[slot] = slot + 1; }
  ~Registered() { static_cast<int *>(pm(0))[slot] = 0; }
};

static Registered first(0);
static Registered second(1);
__attribute__((constructor)) static void by_attribute() { static_cast<int *>(pm(0))[2] = 9; }

int main() {
  static Registered third(3);
  assert(static_cast<int *>(pm(0))[2] == 9);
  return 0;
}
