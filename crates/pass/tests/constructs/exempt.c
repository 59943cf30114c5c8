// Functions that are left as they are: by attribute, and because they have no frame.
#include "pm.h"

__attribute__((disable_sanitizer_instrumentation)) static void unseen(void) { *(int *)pm(0) = 1; }
__attribute__((no_sanitize("thread"))) static void seen(void) { *(int *)pm(4) = 2; }
__attribute__((naked)) static int three(void) { __asm__("movl $3, %eax; ret"); }

int main(void) {
  unseen();
  seen();
  *(int *)pm(8) = three();
  return 0;
}
