// A handler that interrupts a function of libc which must not be interrupted by itself calls such a function.
// check: --checks crash
// exit: 100
// finds: signal-unsafe calls `printf`
// check: --checks crash -DWRITES
// exit: 0
// check: --checks crash -DBLOCKS
// exit: 0
// check: --checks crash -DSUSPENDS
// exit: 0
// check: --checks crash -DENDS
// exit: 100
// finds: signal-unsafe a handler that interrupts `exit` calls `printf`
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void handle(int signal) {
#ifdef WRITES
  write(1, "tick\n", 5);
#else
  printf("tick\n");
#endif
}
int main(void) {
  signal(SIGALRM, handle);
  sigset_t alarms, before;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
#if defined BLOCKS || defined SUSPENDS
  sigprocmask(SIG_BLOCK, &alarms, &before);
#endif
  alarm(1);
#ifdef SUSPENDS
  sigsuspend(&before);
#endif
#ifndef ENDS
  void *block = malloc(10);
  free(block);
#endif
  return 0;
}
