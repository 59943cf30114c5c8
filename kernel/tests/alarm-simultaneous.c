// Two threads sleep for different times.
// with: ../small/threads.c ../small/synch.c ../small/timer.c
// check: --kernel
// exit: 0
// check: --kernel -DSLEEPS_TOO_LATE
// exit: 100
// finds: deadlock
#include "../small/kernel.h"
#include <assert.h>

static struct semaphore ended;

static void sleeps(void *ticks) {
  int64_t before = timer_ticks(), wanted = (intptr_t)ticks;
  timer_sleep(wanted);
  assert(timer_ticks() - before >= wanted);
  semaphore_up(&ended);
}

int main(void) {
  boot();
  semaphore_init(&ended, 0);
  for (intptr_t i = 0; i < 2; i++)
    thread_create("sleeps", PRIORITY_DEFAULT, sleeps, (void *)(i + 1));
  for (int i = 0; i < 2; i++)
    semaphore_down(&ended);
  lfk_power_off();
}
