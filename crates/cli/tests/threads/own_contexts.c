// Threads that switch between contexts of their own, on stacks of their own (`swapcontext`).
// also: --equivalence reads
// check: --checks crash
// exit: 0
// check: --checks crash -O2
// exit: 0
// check: --checks crash -DRACES
// exit: 100
// finds: assertion `count == 4` is false
// check: -DRACES
// exit: 100
// finds: assertion `count == 4` is false
// check: --checks crash -DMIGRATES
// exit: 0
// check: --checks crash -DMIGRATES -DTOO_EARLY
// exit: 100
// finds: assertion
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <ucontext.h>
enum { SIZE = 1 << 15 };
static char stacks[2][SIZE] __attribute__((aligned(64)));
static ucontext_t mains[2], others[2];
static atomic_int count, ready;

static void add(void) {
#ifdef RACES
  count = count + 1;
#else
  count++;
#endif
}

static void coroutine(int me) {
  int local = me;
  add();
  swapcontext(&others[me], &mains[me]);
  assert(local == me);
  add();
  swapcontext(&others[me], &mains[me]);
}

#ifdef MIGRATES
// A context that one thread begins and the other one ends.
static void wanders(int unused) {
  int local = 5;
  int *known = &local;
  __asm__ volatile("" : "+r"(known) : : "memory");
  add();
  swapcontext(&others[0], &mains[0]);
  assert(*known == 5);
  add();
  swapcontext(&others[0], &mains[1]);
}

static void *first(void *unused) {
  getcontext(&others[0]);
  others[0].uc_stack.ss_sp = stacks[0];
  others[0].uc_stack.ss_size = SIZE;
  others[0].uc_link = 0;
  makecontext(&others[0], (void (*)(void))wanders, 1, 0);
#ifdef TOO_EARLY
  ready = 1;
#endif
  swapcontext(&mains[0], &others[0]);
  ready = 1;
  return unused;
}

static void *second(void *unused) {
  while (!ready)
    ;
  int before = count;
  assert(before == 1);
  swapcontext(&mains[1], &others[0]);
  return unused;
}
#else
static void *work(void *argument) {
  long me = (long)argument;
  getcontext(&others[me]);
  others[me].uc_stack.ss_sp = stacks[me];
  others[me].uc_stack.ss_size = SIZE;
  others[me].uc_link = 0;
  makecontext(&others[me], (void (*)(void))coroutine, 1, (int)me);
  swapcontext(&mains[me], &others[me]);
  swapcontext(&mains[me], &others[me]);
  return 0;
}
#endif

int main(void) {
  pthread_t threads[2];
#ifdef MIGRATES
  pthread_create(&threads[0], 0, first, 0);
  pthread_create(&threads[1], 0, second, 0);
#else
  for (long i = 0; i < 2; i++)
    pthread_create(&threads[i], 0, work, (void *)i);
#endif
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], 0);
#ifdef MIGRATES
  assert(count == 2);
#else
  assert(count == 4);
#endif
  return 0;
}
