// The same where threads run before the power fails: whatever they do, or do not do, to persistent memory, recovery runs.
// check: --checks crash -DDOES=_mm_clflush(cell)
// exit: 100
// finds: assertion `cell[0] == 1` is false
// check: --checks crash -DDOES=other=1
// exit: 100
// finds: assertion `cell[0] == 1` is false
// check: --checks crash --model sc --no-share -DDOES=other=1
// exit: 100
// finds: assertion `cell[0] == 1` is false
// check: --random 5 -DDOES=other=1
// exit: 100
// finds: assertion `cell[0] == 1` is false
// check: --checks crash --recover-schedules -DDOES=other=1
// exit: 100
// finds: assertion `cell[0] == 1` is false
// check: --checks crash -DDOES=other=cell[0]
// exit: 100
// finds: assertion `cell[0] == 1` is false
#include <assert.h>
#include <immintrin.h>
#include <landfall.h>
#include <pthread.h>
static long *cell, other;
static void *work(void *_) { DOES; return _; }
int main(void) {
  cell = lf_pm(4096);
  if (lf_failures() == 0) {
    pthread_t t;
    pthread_create(&t, 0, work, 0);
    pthread_join(t, 0);
    return 0;
  }
  assert(cell[0] == 1);
  return 0;
}
