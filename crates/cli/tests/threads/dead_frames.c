// A local variable is gone when its function has returned: another thread that still has its address touches a dead frame.
// also: --equivalence reads
// check:
// check: -O2
// check: --model sc
// check: -DEARLY
// exit: 100
// finds: use-after-free local variable of thread 1; its function has returned
// check: -DEARLY -O2
// exit: 100
// finds: use-after-free local variable of thread 1; its function has returned
// check: -DEARLY --model sc
// exit: 100
// finds: use-after-free local variable of thread 1
// check: -DEARLY -DWRITES
// exit: 100
// finds: use-after-free writes 4 bytes of a local variable of thread 1
// check: -DEARLY -DCOVERED
// exit: 100
// finds: use-after-free local variable of thread 1
// check: -DJOINED
// exit: 100
// finds: use-after-free local variable of thread 1
// check: -DJOINED -DEXITS
// exit: 100
// finds: use-after-free local variable of thread 1
// check: -DINSIDE
// check: -DINSIDE -DEARLY
// exit: 100
// finds: use-after-free local variable of thread 1
// check: -DTWICE
// check: -DTWICE -DEARLY
// exit: 100
// finds: use-after-free local variable of thread 1
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static int *_Atomic shared;
static _Atomic int done, stage;

struct pair {
  int *other;
};
static struct pair *_Atomic pairs;

__attribute__((noinline)) static void wait_for_reader(void) {
#ifndef EARLY
  static int round;
  round++;
  while (done < round)
    ;
#endif
}

__attribute__((noinline)) static void share(void) {
  int local = 7;
#ifdef INSIDE
  // Known only by another variable.
  struct pair pair = {&local};
  pairs = &pair;
  wait_for_reader();
  pairs = 0;
#else
  shared = &local;
  stage++;
#ifdef EXITS
  pthread_exit(0);
#endif
#ifndef JOINED
  wait_for_reader();
  shared = 0;
#endif
#endif
}

__attribute__((noinline)) static void take(int *values) {
  __asm__ volatile("" ::"r"(values) : "memory");
}

// Another one on the same place, which nobody was told of.
__attribute__((noinline)) static void cover(void) {
  int values[32];
  for (int i = 0; i < 32; i++)
    values[i] = 7;
  take(values);
}

static void *worker(void *unused) {
  share();
#ifdef COVERED
  cover();
#endif
#ifdef TWICE
  // On the same place.
  share();
#endif
  return unused;
}

static void look(void) {
#ifdef INSIDE
  struct pair *pair = pairs;
  int *found = pair ? pair->other : 0;
#else
  int *found = shared;
#endif
  if (found) {
#ifdef WRITES
    *(volatile int *)found = 8;
#else
    int value = *(volatile int *)found;
    assert(value == 7);
#endif
  }
  done++;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, worker, 0);
#ifdef JOINED
  pthread_join(thread, 0);
  int value = *(volatile int *)shared;
  return value < 0;
#else
  look();
#ifdef TWICE
  while (stage < 2)
    ;
  look();
#endif
  pthread_join(thread, 0);
  return 0;
#endif
}
