// Whoever looks so often, and then gives up, looks once: all looks but the first happen with it.
// check: --checks crash -DTIMES=3 -DLOOP=1
// exit: 0
// schedules: 2
// check: --checks crash -DTIMES=1000 -DLOOP=1
// exit: 0
// schedules: 2
// check: --checks crash -DTIMES=1000 -DLOOP=1 -O2
// exit: 0
// schedules: 2
// check: --checks crash -DTIMES=1000 -DLOOP=1 --model sc
// exit: 0
// schedules: 2
// The condition may come first, last, or in the middle; and pauses may get longer.
// check: --checks crash -DTIMES=1000 -DLOOP=2
// exit: 0
// schedules: 3
// check: --checks crash -DTIMES=1000 -DLOOP=3
// exit: 0
// schedules: 2
// check: --checks crash -DTIMES=1000 -DLOOP=3 -O2
// exit: 0
// schedules: 2
// What it does then is tried, and what it does if it saw it.
// check: --checks crash -DTIMES=1000 -DLOOP=1 -DGAVE_UP
// exit: 100
// finds: assertion `seen` is false
// check: --checks crash -DTIMES=1000 -DLOOP=1 -DSAW
// exit: 100
// finds: assertion `!seen` is false
// Where the number of looks is known behind the loop, each is one.
// check: --checks crash -DTIMES=5 -DLOOP=4
// exit: 0
// schedules: 6
// check: --checks crash -DTIMES=5 -DLOOP=4 -DTHIRD
// exit: 100
// finds: assertion `i != 3` is false
// So is it where a later turn does something else.
// check: --checks crash -DTIMES=4 -DLOOP=5
// exit: 100
// finds: assertion `!told || !seen` is false
// Two looks in a turn are two: what one of them finds may be gone when the other comes.
// check: --checks crash -DTIMES=2 -DLOOP=6
// exit: 100
// finds: assertion `!both` is false
// A number that begins anew never ends a loop.
// check: --checks crash -DLOOP=7
// exit: 0
// check: --checks crash -DLOOP=7 -DNEVER
// exit: 100
// finds: deadlock livelock
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#ifndef TIMES
#define TIMES 100
#endif
static atomic_int x, y, told;
static void *looks(void *unused) {
  int seen = 0, both = 0, i = 0;
#if LOOP == 1
  for (i = 0; i < TIMES; i++) {
    if (atomic_load_explicit(&x, memory_order_acquire)) {
      seen = 1;
      break;
    }
    __builtin_ia32_pause();
  }
#elif LOOP == 2
  while (i < TIMES && !x)
    i++;
  seen = x;
  (void)seen;
  return 0;
#elif LOOP == 3
  for (int left = TIMES;;) {
    int found = atomic_load_explicit(&x, memory_order_relaxed);
    if (found || left == 0)
      break;
    left -= 2;
    if (left < TIMES / 2)
      sched_yield();
    else
      __builtin_ia32_pause();
  }
#elif LOOP == 4
  while (i < TIMES && !atomic_load_explicit(&x, memory_order_acquire))
    i++;
#ifdef THIRD
  assert(i != 3);
#else
  __asm__ volatile("" : : "r"(i));
#endif
#elif LOOP == 5
  for (i = 0; i < TIMES; i++) {
    if (i == 2)
      told = 1;
    if (atomic_load_explicit(&x, memory_order_acquire)) {
      seen = 1;
      break;
    }
  }
  assert(!told || !seen);
#elif LOOP == 6
  for (i = 0; i < TIMES; i++)
    if (atomic_load_explicit(&x, memory_order_acquire) && !atomic_load_explicit(&y, memory_order_acquire))
      both = 1;
  assert(!both);
#elif LOOP == 7
  for (;;) {
    if (atomic_load_explicit(&x, memory_order_acquire))
      break;
    i = i == 20 ? 3 : i + 1;
    if (i == 10)
      sched_yield();
  }
#endif
#ifdef GAVE_UP
  assert(seen);
#elif defined(SAW)
  assert(!seen);
#endif
  (void)seen, (void)both;
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, looks, 0);
#if LOOP == 6
  y = 1;
  x = 1;
  x = 0;
  y = 0;
  x = 1;
#elif !defined(NEVER)
  x = 1;
#endif
  pthread_join(t, 0);
  return 0;
}
