// Interrupts, flags and the stack as assembly has them.
// check: --kernel
// exit: 0
// check: --kernel -O2
// exit: 0
// check: --kernel -DWRONG
// exit: 100
// finds: assertion `count == 1`
// check: --kernel -m64 -DHALTS
// exit: 0
#include <assert.h>
#include <landfall/kernel.h>
#include <stdint.h>

static int count, ticks;

static void tick(unsigned vector) {
  (void)vector;
  ticks++;
  count++;
}

static inline uint64_t flags(void) {
  uint64_t flags;
  __asm__ volatile("pushfq; popq %0" : "=r"(flags));
  return flags;
}

static uintptr_t stack(void) {
  uint32_t *at;
  __asm__("mov %%esp, %0" : "=g"(at));
  return (uintptr_t)at;
}

int main(void) {
  void *page = lfk_new_page();
  lfk_set_data(lfk_self(), page);
  assert((stack() & ~(uintptr_t)(LFK_PAGE - 1)) == (uintptr_t)page);
  assert(!(flags() & 0x200));
  lfk_handle(0, tick);
  lfk_start_timer(0);
  __asm__ volatile("sti");
  assert(flags() & 0x200);
#ifdef HALTS
  __asm__ volatile("cli");
  while (ticks < 3) {
    __asm__ volatile("sti; hlt" : : : "memory");
    __asm__ volatile("cli");
  }
  lfk_power_off();
#endif
#ifndef WRONG
  __asm__ volatile("cli" : : : "memory");
#endif
  count = 0;
  count++;
  assert(count == 1);
  lfk_power_off();
}
