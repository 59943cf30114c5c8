// A local variable is gone when its block ends: another thread that still has its address touches what is not there any more.
// check:
// check: -O1
// check: -O2
// check: -O3
// check: --model sc
// check: -DEARLY
// exit: 100
// finds: use-after-free local variable of thread 1; its block has ended
// check: -DEARLY -O1
// exit: 100
// finds: use-after-free local variable of thread 1; its block has ended
// check: -DEARLY -O2
// exit: 100
// finds: use-after-free local variable of thread 1; its block has ended
// check: -DEARLY -O3
// exit: 100
// finds: use-after-free local variable of thread 1; its block has ended
// check: -DEARLY -DWRITES
// exit: 100
// finds: use-after-free writes 4 bytes of a local variable of thread 1; its block has ended
// check: -DLEFT
// check: -DLEFT -DEARLY
// exit: 100
// finds: use-after-free local variable of thread 1; its block has ended
// check: -DLEFT -DEARLY -O2
// exit: 100
// finds: use-after-free local variable of thread 1; its block has ended
// check: -DTURNS
// check: -DTURNS -O2
// check: -DTURNS -DEARLY
// exit: 100
// finds: use-after-free local variable of thread 1; its block has ended
// check: -DTURNS -DEARLY -O2
// exit: 100
// finds: use-after-free local variable of thread 1; its block has ended
#include <pthread.h>
#include <stdatomic.h>
static int *_Atomic shared;
static _Atomic int done, stage;

__attribute__((noinline)) static void wait_for_reader(int round) {
#ifndef EARLY
  while (done < round)
    ;
#endif
}

__attribute__((noinline)) static void share(int *local) {
  shared = local;
  stage++;
}

static void *worker(void *unused) {
#if defined TURNS
  // Each turn has a variable of its own, on the same place.
  for (int round = 1; round < 3; round++) {
    int local = 6 + round;
    share(&local);
    wait_for_reader(round);
    shared = 0;
  }
#elif defined LEFT
  // By a jump.
  for (;;) {
    int local = 7;
    share(&local);
    wait_for_reader(1);
    if (local == 7)
      goto out;
    shared = 0;
  }
out:
#else
  {
    int local = 7;
    share(&local);
    wait_for_reader(1);
  }
#endif
  // The function goes on, and is not where it was.
  stage++;
  while (stage < 4)
    ;
  return unused;
}

static void look(void) {
  int *found = shared;
  if (found) {
#ifdef WRITES
    *(volatile int *)found = 8;
#else
    (void)*(volatile int *)found;
#endif
  }
  done++;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, worker, 0);
  look();
#ifdef TURNS
  while (stage < 2)
    ;
  look();
#endif
  stage += 4;
  return pthread_join(thread, 0);
}
