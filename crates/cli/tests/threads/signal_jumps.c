// A handler that does not return: how far its thread had come by then shows, whatever the handler touches.
// check: --checks crash
// exit: 100
// finds: assertion `first == second` is false
// check: --checks crash -DBLOCKS
// exit: 0
// check: --checks crash -DRETURNS
// exit: 0
// A lock that it held then is held for ever.
// check: --checks crash -DLOCKS
// exit: 100
// finds: deadlock
// check: --checks crash -DLOCKS -DBLOCKS
// exit: 0
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
static sigjmp_buf again;
static volatile int first, second;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void handle(int signal) {
#ifndef RETURNS
  siglongjmp(again, 1);
#endif
}
int main(void) {
  signal(SIGALRM, handle);
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  if (!sigsetjmp(again, 1)) {
    alarm(1);
#ifdef BLOCKS
    sigprocmask(SIG_BLOCK, &alarms, 0);
#endif
#ifdef LOCKS
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
#endif
    first = 1;
    second = 1;
#ifdef BLOCKS
    sigprocmask(SIG_UNBLOCK, &alarms, 0);
#endif
  }
#ifdef LOCKS
  // Nothing but a lock shows it.
  sigprocmask(SIG_BLOCK, &alarms, 0);
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  return 0;
#endif
  assert(first == second);
  // Or it jumps into a function that has returned.
  sigprocmask(SIG_BLOCK, &alarms, 0);
  return 0;
}
