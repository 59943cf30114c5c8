// Nobody takes a step between begin and end of an atomic block, in a block or not; blocks are steps like any other.
// check: --sv-comp
// prove: 0
// exit: 0
// schedules: 3
// check: --sv-comp -DFUNCTION
// prove: 0
// exit: 0
// schedules: 3
// check: --sv-comp --model tso
// exit: 0
// schedules: 3
// check: --sv-comp -DSEEN=1
// prove: 100
// exit: 100
// finds: assertion `reach_error` is called
// preemptions: 1
// check: --sv-comp -DBARE
// prove: 100
// exit: 100
// finds: assertion `reach_error` is called
// schedules: 9
// check: --sv-comp -DBARE --model tso
// exit: 100
// finds: assertion
// check: --sv-comp --checks crash,data-races
// exit: 0
// check: --sv-comp --checks data-races -DBARE
// exit: 100
// finds: data-race
// check: --sv-comp -DLOCKS
// exit: 2
// says: inside of an atomic block
#include <pthread.h>
extern void __VERIFIER_atomic_begin(void), __VERIFIER_atomic_end(void);
void reach_error(void) {}
static int x, y;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
#ifdef FUNCTION
static void __VERIFIER_atomic_both(void) {
  x++;
  y++;
}
#else
static void __VERIFIER_both(void) {
#ifndef BARE
  __VERIFIER_atomic_begin();
#endif
#ifdef LOCKS
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
#endif
  x++;
  y++;
#ifndef BARE
  __VERIFIER_atomic_end();
#endif
}
#define __VERIFIER_atomic_both __VERIFIER_both
#endif
static void *counts(void *_) {
  __VERIFIER_atomic_both();
  __VERIFIER_atomic_both();
  return 0;
}
int main() {
  pthread_t p;
  pthread_create(&p, 0, counts, 0);
  __VERIFIER_atomic_begin();
  int a = x, b = y;
  __VERIFIER_atomic_end();
  if (a != b) reach_error();
#ifdef SEEN
  if (a == SEEN) reach_error();
#endif
  pthread_join(p, 0);
  if (x != 2) reach_error();
  return 0;
}
