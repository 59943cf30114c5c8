// A handler of SIGSEGV lets the page be written that two threads store to: whether they fault is no data race. What it counts is one.
// check:
// exit: 0
// check: -O2 --model sc
// exit: 0
// check: -DCOUNTS
// exit: 100
// finds: data-race data race on `faults`
// check: -DTAKES
// exit: 100
// finds: segfault segmentation fault
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

static char *page;
static int faults;

static void lets(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)info, (void)context;
  mprotect(page, 4096, PROT_READ | PROT_WRITE);
#ifdef COUNTS
  faults++;
#else
  __atomic_fetch_add(&faults, 1, __ATOMIC_SEQ_CST);
#endif
}

static void *stores(void *at) {
  page[(long)at] = 1;
  return 0;
}

int main(void) {
  page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#ifdef TAKES
  // Nobody handles it, and the page is taken away again.
  mprotect(page, 4096, PROT_READ | PROT_WRITE);
  (void)lets;
#else
  struct sigaction action = {0};
  action.sa_sigaction = lets;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, 0);
#endif
  pthread_t threads[2];
  for (long i = 0; i < 2; i++)
    pthread_create(&threads[i], 0, stores, (void *)(i + 1));
#ifdef TAKES
  mprotect(page, 4096, PROT_NONE);
#endif
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], 0);
#ifndef TAKES
  assert(page[1] && page[2]);
#endif
  return 0;
}
