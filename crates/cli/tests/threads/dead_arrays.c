// Arrays of variable length are gone when their block ends, what alloca gave when the function returns.
// check:
// check: -O1
// check: -O2
// check: -O3
// check: --model sc
// check: -DEARLY
// exit: 100
// finds: use-after-free bytes into it; its block has ended
// check: -DEARLY -O1
// exit: 100
// finds: use-after-free bytes into it; its block has ended
// check: -DEARLY -O2
// exit: 100
// finds: use-after-free bytes into it; its block has ended
// check: -DEARLY -O3
// exit: 100
// finds: use-after-free bytes into it; its block has ended
// check: -DALLOCA
// check: -DALLOCA -O2
// check: -DALLOCA -DEARLY
// exit: 100
// finds: use-after-free bytes into it; its function has returned
// check: -DALLOCA -DEARLY -O2
// exit: 100
// finds: use-after-free bytes into it; its function has returned
// check: -DALONE
// check: -DALONE -DEARLY
// exit: 100
// finds: use-after-free local variable of thread 0, 8 bytes into it; its function has returned
// check: -DALONE -DEARLY -O2
// exit: 100
// finds: use-after-free local variable of thread 0, 8 bytes into it; its function has returned
#include <alloca.h>
#include <pthread.h>
#include <stdatomic.h>
static int *_Atomic shared;
static _Atomic int done, stage;
static volatile int many = 3;

__attribute__((noinline)) static void wait_for_reader(void) {
#ifndef EARLY
  while (!done)
    ;
#endif
}

__attribute__((noinline)) static void share(int *array) {
  array[1] = 7;
  shared = &array[1];
}

__attribute__((noinline)) static void give(void) {
#ifdef ALLOCA
  int *last = 0;
  for (int i = 0; i < many; i++)
    last = alloca(4 * sizeof *last);
  share(last);
  wait_for_reader();
#else
  {
    int before[many], array[many];
    before[0] = 1;
    share(array);
    __asm__ volatile("" ::"r"(before) : "memory");
    wait_for_reader();
  }
  // The function goes on.
  stage++;
#endif
}

static void *worker(void *unused) {
  give();
  while (stage < 2)
    stage++;
  return unused;
}

static void look(void) {
  int *found = shared;
  if (found)
    (void)*(volatile int *)found;
  done++;
}

#ifdef ALONE
// The array is older than the thread that looks at it.
static void *looks(void *unused) {
  int *found = unused;
  (void)*(volatile int *)found;
  return 0;
}

__attribute__((noinline)) static pthread_t start(int entries) {
  pthread_t thread;
  int array[entries];
  array[entries - 1] = 7;
  pthread_create(&thread, 0, looks, &array[entries - 1]);
#ifndef EARLY
  pthread_join(thread, 0);
#endif
  return thread;
}

int main(void) {
  pthread_t thread = start(many);
#ifdef EARLY
  pthread_join(thread, 0);
#endif
  // Once more, on the same place.
  start(many + 1);
  (void)look, (void)worker;
  return 0;
}
#else
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, worker, 0);
  look();
  return pthread_join(thread, 0);
}
#endif
