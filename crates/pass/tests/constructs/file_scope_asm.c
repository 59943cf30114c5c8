// Assembly at file scope: directives are nothing, code is named.
#include "pm.h"

__asm__(".text\n.globl hidden_store\nhidden_store:\n\tmovl $5, (%rdi)\n\tret");
void hidden_store(int *p);

int main(void) {
  hidden_store(pm(0));
  assert(*(int *)pm(0) == 5);
  return 0;
}
