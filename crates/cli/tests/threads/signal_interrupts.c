// A handler without SA_RESTART ends sem_wait and a futex wait (EINTR); what sigqueue and timers say comes with the signal.
// check: --checks crash -DSEMAPHORE
// exit: 100
// finds: assertion sem_wait(&semaphore) == 0
// check: --checks crash -DSEMAPHORE -DRESTART
// exit: 0
// check: --checks crash -DSEMAPHORE -DAGAIN
// exit: 0
// check: --checks crash -DSEMAPHORE -DAGAIN --model sc
// exit: 0
// check: --checks crash -DTIMED
// exit: 100
// finds: assertion errno == ETIMEDOUT
// check: --checks crash -DFUTEX --spurious 0
// exit: 100
// finds: assertion waited == 0
// check: --checks crash -DFUTEX -DRESTART --spurious 0
// exit: 0
// check: --checks crash -DVALUES
// exit: 0
// check: --checks crash -DWAITED
// exit: 0
// check: --checks crash -DTIMER
// exit: 0
// check: --checks crash -DSENT
// exit: 0
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static sem_t semaphore;
static atomic_int word;
static volatile int got[4], count, code, sender;
static pthread_t first;
static void handle(int signal, siginfo_t *info, void *context) {
  got[count++] = info->si_value.sival_int;
  code = info->si_code;
  sender = info->si_pid;
  assert(info->si_signo == signal);
}
static void *other(void *unused) {
#if defined(SEMAPHORE)
  pthread_kill(first, SIGUSR1);
  sem_post(&semaphore);
#elif defined(TIMED)
  pthread_kill(first, SIGUSR1);
#elif defined(FUTEX)
  pthread_kill(first, SIGUSR1);
  atomic_store(&word, 1);
  syscall(SYS_futex, &word, FUTEX_WAKE, 1, 0, 0, 0);
#elif defined(SENT)
  pthread_kill(first, SIGUSR1);
#endif
  return unused;
}
static void expect(int signal) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO;
#ifdef RESTART
  action.sa_flags |= SA_RESTART;
#endif
  sigaction(signal, &action, 0);
}
int main(void) {
  first = pthread_self();
  expect(SIGUSR1);
#if defined(VALUES)
  // In the order in which they are sent, after they are let through.
  expect(SIGRTMIN);
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN);
  sigprocmask(SIG_BLOCK, &set, &before);
  union sigval value;
  value.sival_int = 3;
  sigqueue(getpid(), SIGRTMIN, value);
  value.sival_int = 4;
  sigqueue(getpid(), SIGRTMIN, value);
  sigprocmask(SIG_SETMASK, &before, 0);
  while (count < 2)
    pause();
  assert(got[0] == 3 && got[1] == 4 && code == SI_QUEUE && sender == getpid());
  return 0;
#elif defined(WAITED)
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, 0);
  union sigval value;
  value.sival_int = 5;
  sigqueue(getpid(), SIGUSR1, value);
  siginfo_t info;
  assert(sigwaitinfo(&set, &info) == SIGUSR1);
  assert(info.si_value.sival_int == 5 && info.si_code == SI_QUEUE);
  return 0;
#elif defined(TIMER)
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR1;
  event.sigev_value.sival_int = 9;
  timer_t timer;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  struct itimerspec time = {{0, 0}, {1, 0}};
  timer_settime(timer, 0, &time, 0);
  sleep(2);
  assert(count == 1 && got[0] == 9 && code == SI_TIMER);
  return 0;
#else
  pthread_t thread;
  sem_init(&semaphore, 0, 0);
  pthread_create(&thread, 0, other, 0);
#if defined(SEMAPHORE) && defined(AGAIN)
  while (sem_wait(&semaphore) != 0)
    assert(errno == EINTR);
#elif defined(SEMAPHORE)
  assert(sem_wait(&semaphore) == 0);
#elif defined(TIMED)
  struct timespec time = {1, 0};
  assert(sem_timedwait(&semaphore, &time) == -1);
  assert(errno == ETIMEDOUT);
#elif defined(FUTEX)
  while (!atomic_load(&word)) {
    long waited = syscall(SYS_futex, &word, FUTEX_WAIT, 0, 0, 0, 0);
    if (waited != 0 && errno == EAGAIN)
      continue;
    assert(waited == 0);
  }
#endif
  pthread_join(thread, 0);
#if defined(SENT)
  if (count)
    assert(code == SI_TKILL && sender == getpid());
#endif
  return 0;
#endif
}
