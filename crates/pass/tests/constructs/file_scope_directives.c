// Directives at file scope alone: nothing to warn of.
#include "pm.h"

__asm__(".pushsection .comment; .asciz \"x\"; .popsection");

int main(void) {
  *(int *)pm(0) = 1;
  return 0;
}
