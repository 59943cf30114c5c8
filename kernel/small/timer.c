/* The timer: time slices of one tick, and threads that sleep until a tick. */
#include "kernel.h"

enum { TIMER = 0 };

static int64_t ticks;
/* By the tick at which they wake. */
static struct thread *sleepers;

static void tick(unsigned vector) {
  (void)vector;
  ticks++;
  while (sleepers && sleepers->wakes_at <= ticks) {
    struct thread *thread = sleepers;
    sleepers = thread->sleeps;
    if (thread->state == BLOCKED)
      thread_unblock(thread);
  }
  thread_yield();
}

void timer_init(void) {
  lfk_handle(TIMER, tick);
  lfk_start_timer(TIMER);
}

int64_t timer_ticks(void) {
  bool before = interrupts_off();
  int64_t now = ticks;
  interrupts_as(before);
  return now;
}

void timer_sleep(int64_t count) {
  struct thread *current = thread_current();
  bool before = interrupts_off();
  current->wakes_at = ticks + count;
  struct thread **place = &sleepers;
  while (*place && (*place)->wakes_at <= current->wakes_at)
    place = &(*place)->sleeps;
  current->sleeps = *place;
  *place = current;
#ifdef SLEEPS_TOO_LATE
  /* The tick may come before the thread sleeps: then nobody wakes it. */
  interrupts_as(before);
  before = interrupts_off();
#endif
  thread_block();
  interrupts_as(before);
}
