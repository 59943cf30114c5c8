// A mutex in persistent memory, held by others when the power fails.
// check: --checks crash
// exit: 0
// check: -DSIGNAL --checks crash
// exit: 100
// finds: deadlock
// check: -DTIMED --checks crash
// exit: 0
// check: -DBLIND --checks crash
// exit: 100
// finds: assertion memory->ready
// check: -DBLIND --checks crash --model sc
// exit: 100
// finds: assertion memory->ready
#include "../../../../examples/prove/threads/conditions.c"
