// A lock made of atomic blocks and assumptions, as SV-COMP's programs have it. A block whose assumption does not hold has not happened,
// even if it has stored before.
// check: --sv-comp
// prove: 0
// exit: 0
// schedules: 2
// assumed: 2
// check: --sv-comp -DLATE
// prove: 5
// exit: 0
// schedules: 2
// assumed: 2
// check: --sv-comp -DOPEN
// prove: 100
// exit: 100
// finds: assertion `reach_error` is called
// check: --sv-comp --model tso
// exit: 0
// check: --sv-comp -DLOOKS -DLATE
// exit: 0
#include <pthread.h>
extern void __VERIFIER_assume(int);
void reach_error(void) {}
static int x, taken;
static void __VERIFIER_atomic_take(void) {
#ifdef LATE
  int old = taken;
  taken = 2;
  taken = old + 1;
  __VERIFIER_assume(old == 0);
#elif !defined(OPEN)
  __VERIFIER_assume(taken == 0);
  taken = 1;
#endif
}
static void __VERIFIER_atomic_give(void) { taken = 0; }
static void *adds(void *_) {
  __VERIFIER_atomic_take();
  int v = x;
  x = v + 1;
  __VERIFIER_atomic_give();
  return 0;
}
int main() {
  pthread_t p, q;
  pthread_create(&p, 0, adds, 0);
  pthread_create(&q, 0, adds, 0);
#ifdef LOOKS
  if (taken > 1) reach_error();
#endif
  pthread_join(p, 0);
  pthread_join(q, 0);
  if (x != 2) reach_error();
  return 0;
}
