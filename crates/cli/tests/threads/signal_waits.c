// Waiting for a signal: one that has come before is missed, unless it was blocked until then.
// check: --checks crash -DPAUSES
// exit: 100
// finds: deadlock
// check: --checks crash -DSUSPENDS
// exit: 0
// check: --checks crash -DWAITS
// exit: 0
// check: --checks crash -DWAITS_ELSEWHERE
// exit: 0
// check: --checks crash -DKILLED -DPAUSES
// exit: 100
// finds: deadlock
// check: --checks crash -DKILLED -DSUSPENDS
// exit: 0
// check: --checks crash -DSPINS
// exit: 0
// check: --checks crash -DPOSTS
// exit: 0
// check: --checks crash -DSLEEPS
// exit: 0
// check: --checks crash -DREPEATS=1
// exit: 0
// check: --checks crash -DREPEATS=2
// exit: 5
// limit: signals
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>
static volatile sig_atomic_t came;
static sem_t posted;
static void handle(int signal) {
  came = 1;
#ifdef POSTS
  sem_post(&posted);
#endif
}
static pthread_t first;
static void *sends(void *unused) {
  pthread_kill(first, SIGALRM);
  return unused;
}
static void *waits(void *set) {
  int signal;
  assert(sigwait(set, &signal) == 0 && signal == SIGALRM);
  return 0;
}
int main(void) {
  signal(SIGALRM, handle);
  first = pthread_self();
  sem_init(&posted, 0, 0);
  pthread_t thread;
  sigset_t alarms, before;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
#if defined SUSPENDS || defined WAITS || defined WAITS_ELSEWHERE
  sigprocmask(SIG_BLOCK, &alarms, &before);
#endif
#ifdef WAITS_ELSEWHERE
  pthread_create(&thread, 0, waits, &alarms);
#endif
#ifdef KILLED
  pthread_create(&thread, 0, sends, 0);
#elif !defined REPEATS
  alarm(1);
#endif
#ifdef REPEATS
  ualarm(10, 10);
  for (int i = 0; i < REPEATS; i++) {
    while (!came)
      ;
    came = 0;
  }
  // Who waits for it waits as often as it takes.
  sigprocmask(SIG_BLOCK, &alarms, 0);
  for (int i = 0; i < 3; i++)
    waits(&alarms);
#elif defined PAUSES
  if (!came)
    pause();
  assert(came);
#elif defined SUSPENDS
  while (!came)
    sigsuspend(&before);
#elif defined WAITS
  waits(&alarms);
  assert(!came);
#elif defined SPINS
  while (!came)
    ;
#elif defined POSTS
  while (sem_wait(&posted))
    ;
  assert(came);
#elif defined SLEEPS
  sleep(2);
  assert(came);
#endif
#if defined KILLED || defined WAITS_ELSEWHERE
  pthread_join(thread, 0);
#endif
  return 0;
}
