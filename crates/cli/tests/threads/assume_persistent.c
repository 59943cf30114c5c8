// The power may fail before an assumption that does not hold; recoveries that assume are no failures.
// check: --checks crash
// exit: 100
// finds: assertion
// check: --checks crash -DRECOVERY
// exit: 0
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
static void *other(void *_) {
  x = 1;
  return 0;
}
int main() {
  int *p = lf_pm(128);
  if (lf_failures()) {
#ifdef RECOVERY
    lf_assume(!(p[16] && !p[0]));
#endif
    assert(!(p[16] && !p[0]));
    return 0;
  }
  pthread_t t;
  pthread_create(&t, 0, other, 0);
  p[0] = 1;
  p[16] = 1;
  lf_assume(x == 7);
  pthread_join(t, 0);
  return 0;
}
