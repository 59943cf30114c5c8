// A loop that only a timer can end is no hang: when it goes off is not known here.
// check: --checks crash -DALARM
// exit: 5
// limit: recover-schedules
// not: hang
// check: --checks crash -DALARM --recover-schedules
// exit: 0
// check: --checks crash -DTIMER=ITIMER_VIRTUAL
// exit: 5
// limit: events
// not: hang
// check: --checks crash -DTIMER=ITIMER_PROF
// exit: 5
// limit: events
// not: hang
// check: --checks crash -DTIMER=ITIMER_VIRTUAL -DSTOPPED
// exit: 100
// finds: hang
// check: --checks crash -DPERIODS --recover-schedules
// exit: 0
// check: --checks crash
// exit: 100
// finds: hang
#include <landfall.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>
static volatile sig_atomic_t over;
static void end(int signal) { over = signal; }
int main(void) {
  volatile int *p = lf_pm(64);
  *p = 1;
  signal(SIGALRM, end);
#ifdef ALARM
  alarm(1);
#endif
#ifdef TIMER
  struct itimerval timer = {.it_value = {.tv_usec = 1000}}, before;
  signal(SIGVTALRM, end);
  signal(SIGPROF, end);
  setitimer(TIMER, &timer, 0);
  getitimer(TIMER, &before);
  over = before.it_value.tv_usec != 1000;
#ifdef STOPPED
  timer.it_value.tv_usec = 0;
  setitimer(TIMER, &timer, &before);
  over |= before.it_value.tv_usec != 1000;
#endif
#endif
#ifdef PERIODS
  struct itimerval periodic = {{1, 0}, {1, 0}};
  setitimer(ITIMER_REAL, &periodic, 0);
  for (int i = 0; i < 3; i++) {
    over = 0;
    pause();
  }
#endif
  while (!over) {
  }
  return 0;
}
