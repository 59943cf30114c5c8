// A thread waits for a device; who looks before interrupts are off may wait for one that has been.
// with: ../small/threads.c ../small/synch.c ../small/timer.c
// check: --kernel
// exit: 0
// check: --kernel -DLOOKS_TOO_EARLY
// exit: 100
// finds: deadlock
#include "../small/kernel.h"
#include <assert.h>

enum { DISK = 1 };

static bool is_done;
static struct thread *waiter;

static void disk(unsigned vector) {
  assert(vector == DISK);
  is_done = true;
  if (waiter)
    thread_unblock(waiter);
  waiter = 0;
}

static void read_block(void) {
  lfk_start_device(DISK);
#ifdef LOOKS_TOO_EARLY
  bool wait = !is_done;
  bool before = interrupts_off();
#else
  bool before = interrupts_off();
  bool wait = !is_done;
#endif
  if (wait) {
    waiter = thread_current();
    thread_block();
  }
  interrupts_as(before);
  assert(is_done);
}

int main(void) {
  boot();
  /* So often the disk may be later than a tick. */
  lfk_idle_ticks = 2;
  lfk_handle(DISK, disk);
  read_block();
  lfk_power_off();
}
