// A handler that takes a lock which its own thread holds waits for ever; one that only tries does not.
// check: --checks crash
// exit: 100
// finds: deadlock
// check: --checks crash -DTRIES
// exit: 0
// check: --checks crash -DBLOCKS
// exit: 0
// check: --checks crash -DANOTHER
// exit: 100
// finds: deadlock
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int shared;
static void handle(int signal) {
#ifdef TRIES
  if (pthread_mutex_trylock(&lock))
    return;
#else
  pthread_mutex_lock(&lock);
#endif
  shared++;
  pthread_mutex_unlock(&lock);
}
static void *works(void *unused) {
  pthread_mutex_lock(&lock);
  shared++;
  pthread_mutex_unlock(&lock);
  return unused;
}
int main(void) {
  signal(SIGUSR1, handle);
  signal(SIGALRM, handle);
#ifdef BLOCKS
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, 0);
#endif
  pthread_t thread;
  pthread_create(&thread, 0, works, 0);
#ifdef ANOTHER
  pthread_kill(thread, SIGUSR1);
#else
  alarm(1);
#endif
  works(0);
  pthread_join(thread, 0);
#ifdef BLOCKS
  pthread_sigmask(SIG_UNBLOCK, &all, 0);
#endif
  return 0;
}
