// Where a program asks for it (lf_preempt), all that others do is tried before and after, though the function is sealed; a program that does not depend on
// that does the same as before.
// check: --without deposit --checks crash -DPREEMPT
// exit: 100
// finds: assertion deposits == 2
// check: --without deposit --checks crash
// exit: 5
// limit: sealed
// check: --checks crash -DPREEMPT
// exit: 100
// finds: assertion deposits == 2
// check: -DPREEMPT -DRIGHT
// exit: 0
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int deposits;
static void deposit(void) {
#ifdef RIGHT
  atomic_fetch_add(&deposits, 1);
#endif
#ifdef PREEMPT
  int before = deposits;
  lf_preempt();
#else
  int before = deposits;
#endif
#ifdef RIGHT
  (void)before;
#else
  deposits = before + 1;
#endif
}
static void *worker(void *unused) {
  deposit();
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, worker, 0);
  deposit();
  pthread_join(thread, 0);
  assert(deposits == 2);
  return 0;
}
