// Two threads of one priority wait for a semaphore; the main thread raises it twice.
// with: ../small/threads.c ../small/synch.c ../small/timer.c
// check: --kernel
// exit: 0
// check: --kernel -DLOOKS_WITH_INTERRUPTS_ON
// exit: 100
// finds: deadlock
#include "../small/kernel.h"
#include <assert.h>

static struct semaphore started, ended;

static void waits(void *unused) {
  (void)unused;
  semaphore_down(&started);
  semaphore_up(&ended);
}

int main(void) {
  boot();
  semaphore_init(&started, 0);
  semaphore_init(&ended, 0);
  for (int i = 0; i < 2; i++)
    thread_create("waits", PRIORITY_DEFAULT, waits, 0);
  for (int i = 0; i < 2; i++)
    semaphore_up(&started);
  for (int i = 0; i < 2; i++)
    semaphore_down(&ended);
  assert(started.value == 0 && ended.value == 0);
  lfk_power_off();
}
