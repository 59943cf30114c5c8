// A first run that asks for persistent memory, or about power failures, and does no more: recovery runs all the same.
// check: --checks crash -DASKS=lf_pm(64)
// exit: 100
// finds: assertion `cell[0] == 1` is false
// check: --checks crash -DASKS=lf_root(0)
// exit: 100
// finds: assertion `cell[0] == 1` is false
// check: -DASKS=0
// exit: 100
// finds: assertion `cell[0] == 1` is false
// check: --checks crash --eager -DASKS=0
// exit: 100
// finds: assertion `cell[0] == 1` is false
// check: --checks crash --no-share -DASKS=0
// exit: 100
// finds: assertion `cell[0] == 1` is false
// check: --random 5 -DASKS=0
// exit: 100
// finds: assertion `cell[0] == 1` is false
// check: --platform eadr --checks crash -DASKS=0
// exit: 100
// finds: assertion `cell[0] == 1` is false
// check: --failures 2 --checks crash -DASKS=0
// exit: 100
// finds: assertion `cell[0] == 1` is false
#include <assert.h>
#include <landfall.h>
int main(void) {
  (void)(ASKS);
  if (lf_failures() == 0) return 0;
  long *cell = lf_pm(64);
  assert(cell[0] == 1);
  return 0;
}
