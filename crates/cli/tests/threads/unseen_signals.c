// Signals and timers reach threads at any moment, and each of these is tried; an action that one thread changes while others look is not.
// check: --checks crash -DKILLS
// exit: 0
// check: --checks crash -DTIMES
// exit: 0
// check: --checks crash -DALARMED
// exit: 0
// check: --checks crash -DCANCELLED
// exit: 0
// check: --checks crash -DRAISES
// exit: 0
// check: --checks crash -DPROBES
// exit: 0
// check: --checks crash -DMASKS
// exit: 0
// check: --checks crash -DIGNORES
// exit: 5
// limit: unseen
// check: --checks crash -DDIRECTS
// exit: 0
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>
static _Atomic int handled;
static void handle(int signal) { handled++; }
static void *work(void *unused) {
#ifdef RAISES
  raise(SIGUSR1);
  pthread_kill(pthread_self(), SIGUSR1);
  assert(handled == 2);
#endif
#ifdef MASKS
  // Each thread blocks signals of its own.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, 0);
  sched_yield();
  pthread_sigmask(SIG_BLOCK, 0, &all);
  assert(sigismember(&all, SIGUSR1));
#endif
#ifdef IGNORES
  signal(SIGUSR1, SIG_IGN);
#endif
  return 0;
}
int main(void) {
  signal(SIGUSR1, handle);
  signal(SIGALRM, handle);
#if defined ALARMED || defined CANCELLED
  alarm(1);
#endif
#ifdef CANCELLED
  sleep(2);
  assert(handled == 1);
#endif
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
#ifdef KILLS
  kill(getpid(), SIGUSR1);
#endif
#ifdef MASKS
  sched_yield();
  sigset_t own;
  pthread_sigmask(SIG_BLOCK, 0, &own);
  assert(!sigismember(&own, SIGUSR1));
#endif
#ifdef IGNORES
  raise(SIGUSR1);
#endif
#ifdef PROBES
  kill(getpid(), 0);
  pthread_kill(thread, 0);
#endif
#ifdef DIRECTS
  pthread_kill(thread, SIGUSR1);
#endif
#ifdef TIMES
  struct itimerval timer = {{0, 100}, {0, 100}};
  setitimer(ITIMER_REAL, &timer, 0);
#endif
#ifdef ALARMED
  usleep(1500000);
  assert(handled == 1);
#endif
  pthread_join(thread, 0);
  return 0;
}
