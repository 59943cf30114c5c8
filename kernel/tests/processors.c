// Two processors, and a lock that is also taken by the handler: with interrupts on, the processor that has it may be interrupted by who wants it.
// check: --kernel
// exit: 0
// check: --kernel -DNO_LOCK
// exit: 100
// finds: assertion `count == 2`
// finds: data-race
// check: --kernel -DINTERRUPTED
// exit: 100
// finds: deadlock livelock
#include <assert.h>
#include <landfall/kernel.h>
#include <stdatomic.h>

static lfk_spinlock lock;
static int count;
static atomic_int done;

static void add(void) {
#ifndef NO_LOCK
  lfk_spin_lock(&lock);
#endif
  count++;
#ifndef NO_LOCK
  lfk_spin_unlock(&lock);
#endif
}

static void tick(unsigned vector) {
  (void)vector;
  lfk_spin_lock(&lock);
  lfk_spin_unlock(&lock);
}

static void second(void *unused) {
  (void)unused;
  assert(lfk_processor() == 1);
  add();
  done = 1;
  for (;;)
    lfk_hlt();
}

int main(void) {
  lfk_handle(0, tick);
  assert(lfk_processor() == 0);
  assert(lfk_start_processor(second, 0) == 1);
#ifdef INTERRUPTED
  lfk_start_device(0);
  lfk_sti();
#endif
  add();
  while (!done)
    ;
  assert(count == 2);
  lfk_power_off();
}
