// Who waits a second time is told so.
// with: ../small/threads.c ../small/synch.c ../small/timer.c ../small/process.c
// check: --kernel
// exit: 0
// check: --kernel -DTOUCHES_AFTER
// exit: 100
// finds: use-after-free
#include "../small/kernel.h"
#include <assert.h>

static int child(void *unused) {
  (void)unused;
  return 81;
}

int main(void) {
  boot();
  struct process *process = process_spawn("child", child, 0);
  assert(process_wait(&process) == 81);
  assert(process_wait(&process) == -1);
  /* Whatever the child still does. */
  timer_sleep(1);
  lfk_power_off();
}
