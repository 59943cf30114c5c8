// Of a loop that waits only the turn that leaves it is an execution's business, however it looks and whatever it calls.
// check: --checks crash -DSTORES=8 -DWAITS=plainly()
// exit: 0
// schedules: 1
// check: --checks crash -DSTORES=64 -DWAITS=plainly() -O2
// exit: 0
// schedules: 1
// check: --checks crash -DSTORES=3 -DWAITS=with_a_copy()
// exit: 0
// schedules: 1
// check: --checks crash -DSTORES=3 -DWAITS=with_a_copy() -O3
// exit: 0
// schedules: 1
// check: --checks crash -DSTORES=3 -DWAITS=politely()
// exit: 0
// schedules: 1
// check: --checks crash -DSTORES=3 -DWAITS=in_a_call()
// exit: 0
// schedules: 1
// check: --checks crash -DSTORES=3 -DWAITS=in_a_call() -O1 --model sc
// exit: 0
// schedules: 1
// check: --checks crash -DSTORES=3 -DWAITS=by_swapping()
// exit: 0
// schedules: 1
// check: --checks crash -DSTORES=3 -DWAITS=around_another_loop()
// exit: 0
// schedules: 3
// check: --checks crash -DSTORES=2 -DWAITS=in_turns()
// exit: 0
// check: --checks crash -DSTORES=2 -DWAITS=counting()
// exit: 100
// finds: assertion `tries == 1` is false
// check: --checks crash -DSTORES=1 -DWAITS=by_the_clock()
// exit: 0
// check: --checks crash -DSTORES=1 -DWAITS=by_the_processor()
// exit: 0
// check: --checks crash -DSTORES=1 -DWAITS=by_assembly()
// exit: 0
// check: --checks crash -DSTORES=2 -DWAITS=for_too_much()
// exit: 100
// finds: deadlock livelock
// check: --checks crash,data-races -DSTORES=1 -DWAITS=reading_besides() -DBESIDES
// exit: 100
// finds: data-race
#define _GNU_SOURCE
#include <assert.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>
#include "../support/threads.h"

static atomic_int x, other;
static int besides, cache;

static void plainly(void) {
  while (atomic_load(&x) != STORES)
    ;
}
/* What was read last is kept, and is different from turn to turn; nobody needs it any more. */
static void with_a_copy(void) {
  int last, sum = 0;
  do {
    last = atomic_load(&x);
    sum = last + atomic_load(&other);
  } while (sum != STORES);
}
static void politely(void) {
  for (;;) {
    if (atomic_load(&x) == STORES)
      break;
    sched_yield();
    usleep(10);
    __builtin_ia32_pause();
  }
}
static int look(atomic_int *at) {
  int found[2] = {atomic_load(at), 0};
  return found[0];
}
static void in_a_call(void) {
  while (look(&x) != STORES)
    ;
}
static void by_swapping(void) {
  int expected;
  do
    expected = STORES;
  while (!atomic_compare_exchange_strong(&x, &expected, STORES));
}
/* Its last turn looks twice: at 1, 2 or 3, and at 3. */
static void around_another_loop(void) {
  do
    while (atomic_load(&x) == 0)
      ;
  while (atomic_load(&x) != STORES);
}
/* The same loop three times is not the same turn three times. */
static void in_turns(void) {
  for (int turn = 0; turn < 3; turn++)
    plainly();
}
/* A counter is something that it keeps. */
static void counting(void) {
  int tries = 0;
  do
    tries++;
  while (atomic_load(&x) != STORES && tries < 3);
  assert(tries == 1);
}
/* Time goes on by itself. */
static void by_the_clock(void) {
  struct timespec now, end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_nsec += 50000;
  do {
    usleep(20);
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (atomic_load(&x) > STORES || now.tv_sec < end.tv_sec || now.tv_nsec < end.tv_nsec);
}
static void by_the_processor(void) {
  unsigned long long end = __builtin_ia32_rdtsc() + 50000;
  do
    usleep(20);
  while (atomic_load(&x) > STORES || __builtin_ia32_rdtsc() < end);
}
/* What assembly does is seen. */
static int steps __attribute__((used));
static void by_assembly(void) {
  do
    __asm__ volatile("incl steps(%%rip)" ::: "memory", "cc");
  while (atomic_load(&x) > STORES || *(volatile int *)&steps < 3);
}
static void for_too_much(void) {
  while (atomic_load(&x) <= STORES)
    ;
}
/* What is read in a turn in vain is read all the same. */
static void reading_besides(void) {
  while (atomic_load(&x) != STORES)
    cache = besides;
}

static void *stores(void *unused) {
#ifdef BESIDES
  besides = 1;
#endif
  for (int i = 1; i <= STORES; i++)
    atomic_store(&x, i);
  return unused;
}
static void *waits(void *unused) {
  WAITS;
  return unused;
}

int main(void) {
  run_both(stores, waits);
  (void)plainly, (void)with_a_copy, (void)politely, (void)in_a_call, (void)by_swapping, (void)around_another_loop;
  (void)in_turns, (void)counting, (void)by_the_clock, (void)by_the_processor, (void)by_assembly, (void)for_too_much, (void)reading_besides;
}
