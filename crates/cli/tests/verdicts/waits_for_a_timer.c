// A loop that only a timer can end is no hang: when it goes off is not known here.
// check: --checks crash -DALARM
// exit: 5
// limit: events
// not: hang
// check: --checks crash
// exit: 100
// finds: hang
#include <landfall.h>
#include <signal.h>
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
  while (!over) {
  }
  return 0;
}
