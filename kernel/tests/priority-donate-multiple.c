// A thread with a lock gets the priority of one that wants it, and has its own again when it has released the lock.
// with: ../small/threads.c ../small/synch.c ../small/timer.c
// check: --kernel
// exit: 0
// check: --kernel -DKEEPS_DONATION
// exit: 100
// finds: assertion
#include "../small/kernel.h"
#include <assert.h>

static struct lock lock;
static struct semaphore ended;

static void holds(void *unused) {
  (void)unused;
  struct thread *self = thread_current();
  lock_acquire(&lock);
  lock_release(&lock);
  assert(self->priority == self->own_priority);
  semaphore_up(&ended);
}

static void wants(void *unused) {
  (void)unused;
  /* So that it comes at any time. */
  timer_sleep(1);
  lock_acquire(&lock);
  lock_release(&lock);
  semaphore_up(&ended);
}

int main(void) {
  boot();
  lock_init(&lock);
  semaphore_init(&ended, 0);
  thread_create("wants", PRIORITY_HIGH, wants, 0);
  thread_create("holds", PRIORITY_LOW, holds, 0);
  for (int i = 0; i < 2; i++)
    semaphore_down(&ended);
  lfk_power_off();
}
