// Inline functions keep the file and line they are written in; always-inline ones too.
#include "pm.h"
#include "headers.h"

static inline __attribute__((always_inline)) void here(int *p) { *p = 2; }

int main(void) {
  set_from_header(pm(0), 1);
  here(pm(4));
  return 0;
}
