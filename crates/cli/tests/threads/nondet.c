// Where the program asks for any value, each of a few is tried; that these are not all is a limit, but for a truth.
// check: --sv-comp -DVALUE=__VERIFIER_nondet_bool -DTYPE=_Bool -DWANTED=2
// prove: 100
// exit: 100
// finds: assertion `reach_error` is called
// note: the value asked for at
// check: --sv-comp -DVALUE=__VERIFIER_nondet_bool -DTYPE=_Bool -DWANTED=3
// prove: 0
// exit: 0
// schedules: 8
// check: --sv-comp -DVALUE=__VERIFIER_nondet_int -DTYPE=int -DWANTED=-2
// exit: 100
// finds: assertion
// note: is -1
// check: --sv-comp -DVALUE=__VERIFIER_nondet_int -DTYPE=int -DWANTED=14
// prove: 100
// exit: 5
// limit: nondet
// check: --sv-comp --nondet 0..7 -DVALUE=__VERIFIER_nondet_int -DTYPE=int -DWANTED=14
// exit: 100
// finds: assertion
// note: is 7
// check: --sv-comp --nondet=-128..127 -DVALUE=__VERIFIER_nondet_char -DTYPE=char -DWANTED=1000 -DONCE
// exit: 0
// check: --sv-comp --runs 3 -DVALUE=__VERIFIER_nondet_int -DTYPE=int -DWANTED=14
// exit: 5
// limit: runs
// limit: nondet
#include <pthread.h>
extern TYPE VALUE(void);
void reach_error(void) {}
static int sum;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *adds(void *_) {
  pthread_mutex_lock(&m);
#ifndef ONCE
  sum += VALUE();
#endif
  pthread_mutex_unlock(&m);
  return 0;
}
int main() {
  pthread_t p;
  pthread_create(&p, 0, adds, 0);
  pthread_mutex_lock(&m);
  sum += VALUE();
  pthread_mutex_unlock(&m);
  pthread_join(p, 0);
  if (sum == WANTED) reach_error();
  return 0;
}
