// Loops that look at the clock: a thread may be away for any time between two looks, so they end after a few.
// check: --checks crash -DLOOP=1
// exit: 0
// schedules: 3
// assumes: a second passes, then an hour, then ten years
// check: --checks crash -DLOOP=2
// exit: 0
// schedules: 4
// What comes when the time is over is tried, and what comes if it is not.
// check: --checks crash -DLOOP=1 -DLATE
// exit: 100
// finds: assertion `x` is false
// check: --checks crash -DLOOP=1 -DIN_TIME
// exit: 100
// finds: assertion `!x` is false
// Hours and seconds; the inner time may be over while the outer is not.
// check: --checks crash -DLOOP=3
// exit: 0
// check: --checks crash -DLOOP=3 -DAGAIN
// exit: 100
// finds: assertion `rounds < 1 || x` is false
// Who only notes what time it is waits like others.
// check: --checks crash -DLOOP=4
// exit: 0
// check: --checks crash -DLOOP=4 -DNEVER
// exit: 100
// finds: deadlock livelock
// Signals and waking while nobody waits are nothing: who tells others until they answer.
// check: --checks crash -DLOOP=5
// exit: 0
// check: --checks crash -DLOOP=5 -DDEAF
// exit: 100
// finds: deadlock livelock
// check: --checks crash -DLOOP=6
// exit: 0
#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static atomic_int x;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int wanted;
static void *answers(void *unused) {
#if LOOP == 5
  pthread_mutex_lock(&lock);
  while (!wanted)
    pthread_cond_wait(&condition, &lock);
  wanted = 0;
#ifndef DEAF
  x = 1;
#endif
  pthread_mutex_unlock(&lock);
#elif !defined(NEVER)
  x = 1;
#endif
  return 0;
}
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, answers, 0);
#if LOOP == 1
  double end = now() + 0.05;
  while (!x && now() < end)
    sched_yield();
#elif LOOP == 2
  struct timeval began, t2;
  gettimeofday(&began, 0);
  do
    gettimeofday(&t2, 0);
  while (!x && t2.tv_sec - began.tv_sec < 3000);
#elif LOOP == 3
  int rounds = 0;
  for (double last = now() + 1800; !x && now() < last; rounds++) {
#ifdef AGAIN
    assert(rounds < 1 || x);
#endif
    for (double end = now() + 0.5; !x && now() < end;)
      ;
  }
#elif LOOP == 4
  static double last;
  while (!x)
    last = now();
#elif LOOP == 5
  while (!x) {
    pthread_mutex_lock(&lock);
    wanted = 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&lock);
  }
#elif LOOP == 6
  while (!x)
    syscall(SYS_futex, &x, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
#endif
#ifdef LATE
  assert(x);
#elif defined(IN_TIME)
  assert(!x);
#endif
  pthread_join(t, 0);
  return 0;
}
