// Handlers and masks of constructors are there in every run.
// check: --checks crash
// exit: 100
// finds: assertion `came == 0` is false
// check: --checks crash -DBLOCKS
// exit: 0
#include <assert.h>
#include <signal.h>
#include <unistd.h>
static volatile sig_atomic_t came;
static void handle(int signal) { came = 1; }
__attribute__((constructor)) static void before_main(void) {
  struct sigaction action = {0};
  action.sa_handler = handle;
  sigaction(SIGALRM, &action, 0);
#ifdef BLOCKS
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  sigprocmask(SIG_BLOCK, &alarms, 0);
#endif
}
int main(void) {
  alarm(1);
  assert(came == 0);
  return 0;
}
