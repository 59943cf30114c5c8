// Functions that the program seals: threads are not preempted there, and that is a limit. The command line has the last word.
// check: --checks crash
// exit: 5
// limit: sealed
// check: --checks crash -DOPEN
// exit: 100
// finds: assertion deposits == 2
// check: --checks crash --within deposit
// exit: 100
// finds: assertion deposits == 2
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#ifdef OPEN
#undef lf_sealed
#define lf_sealed
#endif
static atomic_int deposits;
lf_sealed static void deposit(void) {
  int before = deposits;
  deposits = before + 1;
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
