// One thread, values that decide how many are asked for, exit codes that mean nothing, `abort` as an assumption.
// check: --sv-comp -DWANTED=2
// prove: 100
// exit: 100
// finds: assertion `reach_error` is called
// check: --sv-comp -DWANTED=5
// exit: 0
// check: -DWANTED=5
// exit: 100
// finds: exit
#include <stdlib.h>
extern _Bool __VERIFIER_nondet_bool(void);
extern void __VERIFIER_error(void);
int main() {
  int n = 0;
  while (n < 4 && __VERIFIER_nondet_bool()) n++;
  if (n == 4) abort();
  if (n == WANTED) __VERIFIER_error();
  return 1;
}
