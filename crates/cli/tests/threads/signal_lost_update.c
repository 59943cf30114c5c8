// A handler interrupts its thread between reading and storing what it changes as well.
// check: --checks crash
// exit: 100
// finds: assertion `count == 3 + ticks` is false
// check: --checks crash -DATOMIC
// exit: 0
// check: --checks crash -DBLOCKS
// exit: 100
// finds: assertion `count == 3 + ticks` is false
// check: --checks crash -DBLOCKS -DALL_BLOCK
// exit: 0
// check: --checks crash -DONE_THREAD
// exit: 100
// finds: assertion `count == 3 + ticks` is false
// check: --checks crash -DONE_THREAD -DATOMIC
// exit: 0
// schedules: 6
// check: --checks crash -DONE_THREAD -DBLOCKS
// exit: 0
// schedules: 5
// check: --checks crash -DONE_THREAD -DELSEWHERE
// exit: 0
// schedules: 3
// check: --checks crash -DONE_THREAD -DTIMER
// exit: 100
// finds: assertion `count == 3 + ticks` is false
// check: --checks crash -DONE_THREAD -DATOMIC -DREPEATS
// exit: 0
// schedules: 6
// check: --checks crash -DONE_THREAD -DATOMIC -DREPEATS --signals 2
// exit: 0
// schedules: 26
// check: --checks crash -DONE_THREAD --model sc
// exit: 100
// finds: assertion `count == 3 + ticks` is false
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#ifdef ATOMIC
static _Atomic int count;
#else
static volatile int count;
#endif
static volatile int ticks, elsewhere;
static void handle(int signal) {
#ifdef ELSEWHERE
  elsewhere++;
#else
  count++;
  ticks++;
#endif
}
static void *rests(void *unused) { return unused; }
int main(void) {
  signal(SIGALRM, handle);
  pthread_t thread;
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
#ifdef ALL_BLOCK
  // Or the other thread gets what the main thread blocks.
  sigprocmask(SIG_BLOCK, &alarms, 0);
#endif
#ifndef ONE_THREAD
  pthread_create(&thread, 0, rests, 0);
#endif
#ifdef TIMER
  timer_t timer;
  timer_create(CLOCK_MONOTONIC, 0, &timer);
  struct itimerspec soon = {{0, 0}, {0, 1000}};
  timer_settime(timer, 0, &soon, 0);
#elif defined REPEATS
  ualarm(10, 10);
#else
  alarm(1);
#endif
#ifdef BLOCKS
  sigprocmask(SIG_BLOCK, &alarms, 0);
#endif
  for (int i = 0; i < 3; i++)
    count++;
#ifdef BLOCKS
  sigprocmask(SIG_UNBLOCK, &alarms, 0);
#endif
#ifndef ONE_THREAD
  pthread_join(thread, 0);
#endif
  // Both at one time.
  sigprocmask(SIG_BLOCK, &alarms, 0);
  assert(count == 3 + ticks);
  return 0;
}
