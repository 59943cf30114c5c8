// Signals that are blocked and read from a descriptor (signalfd).
// check: --checks crash
// exit: 0
// check: --checks crash -DVALUES
// exit: 0
// check: --checks crash -DEARLY
// exit: 100
// finds: assertion `done` is false
// check: --checks crash -DNONBLOCKING
// exit: 100
// finds: assertion `got == sizeof told` is false
// check: --checks crash -DNEVER
// exit: 100
// finds: deadlock
// check: --checks crash -DPOLLED
// exit: 2
// says: whether a signal has come that a signalfd would read is no step
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/signalfd.h>
#include <unistd.h>

static atomic_int done;

static void *other(void *unused) {
#ifdef EARLY
  kill(getpid(), SIGUSR1);
  atomic_store(&done, 1);
#else
  atomic_store(&done, 1);
#ifdef VALUES
  union sigval value = {.sival_int = 42};
  sigqueue(getpid(), SIGUSR1, value);
#elif !defined(NEVER)
  kill(getpid(), SIGUSR1);
#endif
#endif
  return unused;
}

int main(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, 0);
  int flags = 0;
#ifdef NONBLOCKING
  flags = SFD_NONBLOCK;
#endif
  int fd = signalfd(-1, &set, flags);
  assert(fd >= 0);
  char small[8];
  assert(read(fd, small, sizeof small) == -1 && errno == EINVAL);
  pthread_t thread;
  pthread_create(&thread, 0, other, 0);
#ifdef POLLED
  struct pollfd one = {.fd = fd, .events = POLLIN};
  poll(&one, 1, -1);
#endif
  struct signalfd_siginfo told;
  ssize_t got = read(fd, &told, sizeof told);
  assert(got == sizeof told);
  assert(told.ssi_signo == SIGUSR1 && told.ssi_pid == (unsigned)getpid());
#ifdef VALUES
  assert(told.ssi_int == 42 && told.ssi_code == SI_QUEUE);
#endif
  assert(done);
  pthread_join(thread, 0);
  return 0;
}
