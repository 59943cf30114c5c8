// Several devices, on one processor and without a timer: each interrupts at any time from when it was told to work, in any order. Who looks before
// interrupts are off may halt for one that has been; the one that was told first need not be first; nothing is done yet when `start` returns.
// check: --kernel
// exit: 0
// check: --kernel --model sc -O2
// exit: 0
// check: --kernel -DAGAIN
// exit: 0
// check: --kernel -DLOOKS_TOO_EARLY
// exit: 100
// finds: deadlock
// check: --kernel -DDISK_FIRST
// exit: 100
// finds: assertion `sectors == 1` is false
// check: --kernel -DAT_ONCE
// exit: 100
// finds: assertion `sectors == 1` is false
// check: --kernel -DNOT_AT_ONCE
// exit: 100
// finds: assertion `sectors == 0` is false
#include <assert.h>
#include <landfall/kernel.h>

enum { DISK = 1, NETWORK };

static volatile int sectors, packets;

static void disk(unsigned vector) {
  assert(vector == DISK);
  sectors++;
}

static void network(unsigned vector) {
  assert(vector == NETWORK);
#ifdef DISK_FIRST
  assert(sectors == 1);
#endif
  packets++;
}

static void wait_for(volatile int *count, int enough) {
#ifdef LOOKS_TOO_EARLY
  while (*count < enough)
    lfk_hlt();
#else
  lfk_cli();
  while (*count < enough) {
    lfk_hlt();
    lfk_cli();
  }
  lfk_sti();
#endif
}

int main(void) {
  lfk_handle(DISK, disk);
  lfk_handle(NETWORK, network);
  lfk_sti();
  lfk_start_device(DISK);
#ifdef AT_ONCE
  assert(sectors == 1);
#elif defined NOT_AT_ONCE
  assert(sectors == 0);
#endif
  lfk_start_device(NETWORK);
  wait_for(&packets, 1);
  wait_for(&sectors, 1);
#ifdef AGAIN
  lfk_start_device(DISK);
  wait_for(&sectors, 2);
#endif
  lfk_power_off();
}
