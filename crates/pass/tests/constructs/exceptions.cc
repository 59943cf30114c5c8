// C++ exceptions: calls that may unwind, cleanups, rethrowing.
#include "pm.h"
#include <stdexcept>

struct Guard {
  int *p;
  ~Guard() { *p = 7; }
};

static void fail(int *p) {
  Guard guard{p + 1};
  *p = 1;
  throw std::runtime_error("x");
}

int main() {
  int *p = static_cast<int *>(pm(0));
  try {
    try {
      fail(p);
    } catch (...) {
      p[2] = 3;
      throw;
    }
  } catch (const std::exception &e) {
    p[3] = e.what()[0];
  }
  assert(p[1] == 7);
  return 0;
}
