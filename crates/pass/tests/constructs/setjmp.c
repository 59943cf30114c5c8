// Leaving and returning by longjmp.
#include "pm.h"
#include <setjmp.h>

static jmp_buf back;

static __attribute__((noinline)) void fail(void) {
  *(int *)pm(4) = 2;
  longjmp(back, 3);
}

int main(void) {
  int code = setjmp(back);
  if (code == 0) {
    *(int *)pm(0) = 1;
    fail();
    *(int *)pm(12) = 99;
  }
  *(int *)pm(8) = code;
  return 0;
}
