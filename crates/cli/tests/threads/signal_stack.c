// Handlers run on the stack that was set aside for them (`sigaltstack`, `SA_ONSTACK`), others on that of the thread that they interrupt.
// check: -DFAULT -DTHREADS
// check: -DOVERFLOW -DTHREADS
// check: -DWRONG
// exit: 100
// finds: assertion
// check: -DWRONG -DTHREADS
// exit: 100
// finds: assertion
// check: -DWRONG -DFAULT
// exit: 100
// finds: assertion
// check: -DOVERFLOW -DWRONG
// exit: 100
// finds: segfault
// check: -DTHREADS
// check: -DTHREADS -O2
// check: -DTHREADS -DRACY
// exit: 100
// finds: assertion
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
static char aside[65536];
static _Atomic int handled, shared;
static sigjmp_buf back;
static char *page;

static int is_aside(void *place) {
  return (uintptr_t)place - (uintptr_t)aside < sizeof aside;
}

static void handler(int signal, siginfo_t *info, void *context) {
  char here;
  assert(is_aside(&here));
  stack_t old;
  assert(sigaltstack(0, &old) == 0);
  assert(old.ss_sp == aside && old.ss_size == sizeof aside && old.ss_flags == SS_ONSTACK);
  stack_t none = {.ss_flags = SS_DISABLE};
  assert(sigaltstack(&none, 0) == -1 && errno == EPERM);
  // Others may go on here.
  int before = shared;
  shared = before + 1;
  handled++;
#ifdef OVERFLOW
  siglongjmp(back, 1);
#endif
#ifdef FAULT
  assert(info->si_addr == page);
  mprotect(page, 4096, PROT_READ | PROT_WRITE);
#endif
}

static void on_own_stack(int signal) {
  char here;
  assert(!is_aside(&here));
}

__attribute__((noinline)) static int deep(volatile char *above) {
  volatile char more[4096];
  more[0] = above[0];
  return deep(more) + more[0];
}

static void set(int signal, int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  assert(sigaction(signal, &action, 0) == 0);
}

static void *run(void *unused) {
  stack_t stack = {.ss_sp = aside, .ss_size = sizeof aside}, old;
  assert(sigaltstack(0, &old) == 0 && old.ss_flags == SS_DISABLE);
  assert(sigaltstack(&stack, 0) == 0);
  assert(sigaltstack(0, &old) == 0 && old.ss_flags == 0 && old.ss_sp == aside);
  stack.ss_size = 100;
  assert(sigaltstack(&stack, 0) == -1 && errno == ENOMEM);
#ifdef WRONG
  int flags = 0;
#else
  int flags = SA_ONSTACK;
#endif
  set(SIGSEGV, flags);
  set(SIGUSR1, flags);
  signal(SIGUSR2, on_own_stack);
#if defined OVERFLOW
  volatile char top = 1;
  if (!sigsetjmp(back, 1))
    return (void *)(long)deep(&top);
  assert(handled == 1);
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, 0, &blocked);
  assert(!sigismember(&blocked, SIGSEGV));
#elif defined FAULT
  page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *page = 1;
  assert(*page == 1 && handled == 1);
#else
  pthread_kill(pthread_self(), SIGUSR1);
  pthread_kill(pthread_self(), SIGUSR2);
  assert(handled == 1);
#endif
  return 0;
}

#ifdef THREADS
static void *other(void *unused) {
#ifdef RACY
  shared = shared + 1;
#endif
  return unused;
}
#endif

int main(void) {
#ifdef THREADS
  pthread_t threads[2];
  pthread_create(&threads[0], 0, run, 0);
  pthread_create(&threads[1], 0, other, 0);
  pthread_join(threads[0], 0);
  pthread_join(threads[1], 0);
#ifdef RACY
  assert(shared == 2);
#endif
#else
  run(0);
#endif
  return 0;
}
