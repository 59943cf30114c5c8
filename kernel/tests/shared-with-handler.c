// Two processors share pages under a spin lock that a device's handler takes as well: who takes it with interrupts on may be interrupted while it
// holds it, and waits for itself.
// check: --kernel
// exit: 0
// check: --kernel -O2 --model sc
// exit: 0
// check: --kernel -DINTERRUPTS_ON
// exit: 100
// finds: deadlock livelock
#include <landfall/kernel.h>
#include <stdatomic.h>

enum { DEVICE = 1 };

static lfk_spinlock lock;
static int pages = 3, taken;
static atomic_int interrupted, finished;

static void take(void) {
  lfk_spin_lock(&lock);
  pages--;
  taken++;
  lfk_spin_unlock(&lock);
}

static void allocate(void) {
#ifdef INTERRUPTS_ON
  take();
#else
  int on = lfk_interrupts_on();
  lfk_cli();
  take();
  if (on)
    lfk_sti();
#endif
}

static void device(unsigned vector) {
  (void)vector;
  take();
  interrupted = 1;
}

static void other(void *unused) {
  (void)unused;
  allocate();
  finished = 1;
  for (;;)
    lfk_hlt();
}

int main(void) {
  lfk_handle(DEVICE, device);
  lfk_start_processor(other, 0);
  lfk_start_device(DEVICE);
  lfk_sti();
  allocate();
  while (!finished || !interrupted)
    ;
  lfk_cli();
  if (pages || taken != 3)
    lfk_panic("pages were lost");
  lfk_power_off();
}
