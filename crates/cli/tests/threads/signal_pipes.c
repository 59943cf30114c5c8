// A handler without SA_RESTART ends a read of a pipe that waits (EINTR), with it the read goes on; poll it ends in any case. What the handler
// writes to a pipe is read.
// check: --checks crash
// exit: 100
// finds: assertion `got == 1` is false
// check: --checks crash -DRESTART
// exit: 0
// check: --checks crash -DAGAIN
// exit: 0
// check: --checks crash -DAGAIN --model sc
// exit: 0
// check: --checks crash -DPOLL
// exit: 100
// finds: assertion `ready == 1` is false
// check: --checks crash -DPOLL -DRESTART
// exit: 100
// finds: assertion `ready == 1` is false
// check: --checks crash -DPOLL -DAGAIN
// exit: 0
// check: --checks crash -DEPOLL -DRESTART
// exit: 100
// finds: assertion `ready == 1` is false
// check: --checks crash -DEPOLL -DAGAIN
// exit: 0
// check: --checks crash -DWRITES -DAGAIN
// exit: 0
// check: --checks crash -DWRITES -DRESTART
// exit: 0
// check: --checks crash -DWRITES -DMASKED
// exit: 100
// finds: deadlock
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static int ends[2];
static pthread_t first;

static void handle(int signal) {
  (void)signal;
#ifdef WRITES
  int before = errno;
  assert(write(ends[1], "h", 1) == 1);
  errno = before;
#endif
}

static void *other(void *unused) {
  pthread_kill(first, SIGUSR1);
#ifndef WRITES
  assert(write(ends[1], "o", 1) == 1);
#endif
  return unused;
}

static int wait_for_it(void) {
#ifdef EPOLL
  int set = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN};
  epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);
  int ready = epoll_wait(set, &event, 1, -1);
  close(set);
  return ready;
#else
  struct pollfd one = {.fd = ends[0], .events = POLLIN};
  return poll(&one, 1, -1);
#endif
}

int main(void) {
  assert(pipe(ends) == 0);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handle;
#ifdef RESTART
  action.sa_flags = SA_RESTART;
#endif
  sigaction(SIGUSR1, &action, 0);
#ifdef MASKED
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, 0);
#endif
  first = pthread_self();
  pthread_t thread;
  pthread_create(&thread, 0, other, 0);
#if defined(POLL) || defined(EPOLL)
  int ready;
  do
    ready = wait_for_it();
#ifdef AGAIN
  while (ready < 0 && errno == EINTR);
#else
  while (0);
#endif
  assert(ready == 1);
#else
  char letter;
  ssize_t got;
  do
    got = read(ends[0], &letter, 1);
#ifdef AGAIN
  while (got < 0 && errno == EINTR);
#else
  while (0);
  assert(got == 1 || errno == EINTR);
#endif
  assert(got == 1);
#endif
  pthread_join(thread, 0);
  return 0;
}
