// What a handler does in the middle of its thread others see in the middle of that thread.
// check: --checks crash -DORDER
// exit: 100
// finds: assertion `!(second && !first)` is false
// check: --checks crash -DORDER -DLATER
// exit: 0
// check: --checks crash -DBUFFER
// exit: 100
// finds: assertion `!(seen_x == 0 && seen_y == 0)` is false
// check: --checks crash -DBUFFER -DINSIDE --model sc
// exit: 0
// check: --checks crash -DBUFFER -DINSIDE
// exit: 100
// finds: assertion `!(seen_x == 0 && seen_y == 0)` is false
// check: --checks crash -DNESTED
// exit: 100
// finds: assertion `depth == 0` is false
// check: --checks crash -DNESTED -DMASKED
// exit: 0
// check: --checks crash -DRESET
// exit: 0
// check: --checks crash -DJUMPS
// exit: 0
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>
static atomic_int x, y;
static int depth, seen_x = 1, seen_y = 1, runs;
static sigjmp_buf out;
static void handle(int signal) {
#ifdef ORDER
  atomic_store(&y, 1);
#elif defined BUFFER
#ifdef INSIDE
  // It sees the store of its own thread, which need not be in memory yet.
  if (!atomic_load_explicit(&x, memory_order_relaxed))
    return;
#endif
  seen_y = atomic_load_explicit(&y, memory_order_relaxed);
#elif defined NESTED
  assert(depth == 0);
  depth = 1;
  depth = 0;
#elif defined JUMPS
  siglongjmp(out, 1);
#endif
  runs++;
}
static void *other(void *unused) {
#ifdef ORDER
  int second = atomic_load(&y), first = atomic_load(&x);
  assert(!(second && !first));
#elif defined BUFFER
  atomic_store(&y, 1);
  seen_x = atomic_load(&x);
#endif
  return unused;
}
int main(void) {
  struct sigaction action = {.sa_handler = handle};
#ifdef MASKED
  sigfillset(&action.sa_mask);
#endif
#ifdef RESET
  action.sa_flags = SA_RESETHAND;
#endif
  sigaction(SIGALRM, &action, 0);
  sigaction(SIGUSR1, &action, 0);
  pthread_t thread;
  pthread_create(&thread, 0, other, 0);
#ifdef LATER
  atomic_store(&x, 1);
#endif
#ifdef JUMPS
  if (!sigsetjmp(out, 1)) {
    alarm(1);
    pause();
  }
#elif defined BUFFER
  alarm(1);
  atomic_store_explicit(&x, 1, memory_order_relaxed);
#else
  alarm(1);
#endif
#ifdef NESTED
  pthread_kill(pthread_self(), SIGUSR1);
#endif
#if defined ORDER && !defined LATER
  atomic_store(&x, 1);
#endif
  pthread_join(thread, 0);
#ifdef BUFFER
  assert(!(seen_x == 0 && seen_y == 0));
#endif
#ifdef RESET
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, 0);
  struct sigaction now;
  sigaction(SIGALRM, 0, &now);
  assert((now.sa_handler == SIG_DFL) == runs);
#endif
  return 0;
}
