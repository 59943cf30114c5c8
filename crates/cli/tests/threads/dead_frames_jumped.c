// A function that is left by a jump has returned, too: who still has the address of a variable of it touches a dead frame.
// check:
// check: -O2
// check: -DEARLY
// exit: 100
// finds: use-after-free local variable of thread 1
// check: -DEARLY -O2
// exit: 100
// finds: use-after-free local variable of thread 1
// check: -DEARLY -DDEEP --model sc
// exit: 100
// finds: use-after-free local variable of thread 1
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>

static int *_Atomic shared;
static _Atomic int done;
static jmp_buf back;

__attribute__((noinline)) static void wait_for_reader(void) {
#ifndef EARLY
  while (!done)
    ;
#endif
}

__attribute__((noinline)) static void leave(void) {
  wait_for_reader();
  longjmp(back, 1);
}

__attribute__((noinline)) static void share(void) {
  int local = 7;
  shared = &local;
#ifdef DEEP
  leave();
#else
  wait_for_reader();
  longjmp(back, 1);
#endif
}

static void *write_it(void *unused) {
  // What this function has itself is there until it returns.
  int own = 3;
  if (!setjmp(back))
    share();
  int *_Atomic known = &own;
  return *known == 3 ? unused : (void *)1;
}

static void *read_it(void *unused) {
  int *found = shared;
  if (found && *(volatile int *)found != 7)
    return (void *)1;
  done = 1;
  return unused;
}

int main(void) {
  pthread_t writer, reader;
  pthread_create(&writer, 0, write_it, 0);
  pthread_create(&reader, 0, read_it, 0);
  pthread_join(writer, 0);
  pthread_join(reader, 0);
}
