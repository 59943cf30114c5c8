// A processor with nothing to do takes and gives a lock and lets interrupts in, again and again: it waits. What it keeps of itself changes in each turn, and is as it was
// behind it; that is found by a loop, so more loops are left in a turn than are known at once.
// check: --kernel
// exit: 0
// check: --kernel -DFORGETS
// exit: 100
// finds: deadlock
// check: --kernel -DSTORE
// exit: 0
// check: --kernel -DSTORE --model sc
// exit: 0
// What a function keeps on its stack while it waits for the lock is gone when it has returned, whoever had its address.
// check: --kernel -DKNOWN
// exit: 0
// check: --kernel -DKNOWN -DSTORE
// exit: 0
// check: --kernel -DKNOWN -DSTORE -DFORGETS
// exit: 100
// finds: deadlock livelock
// check: --kernel -DSTORE -DFORGETS
// exit: 100
// finds: deadlock livelock
#include <landfall/kernel.h>
#include <stdatomic.h>

static struct processor {
  unsigned number;
  int depth, on;
} processors[2] = {{0, 0, 0}, {1, 0, 0}};

static atomic_int taken;
static int ready;

static struct processor *own(void) {
  for (int at = 0; at < 2; at++)
    if (processors[at].number == lfk_processor())
      return &processors[at];
  lfk_panic("no such processor");
}

static void enter(void) {
  int on = lfk_interrupts_on();
  lfk_cli();
  if (own()->depth == 0)
    own()->on = on;
  own()->depth++;
}

static void leave(void) {
  if (lfk_interrupts_on() || own()->depth == 0)
    lfk_panic("not entered");
  own()->depth--;
  if (own()->depth == 0 && own()->on)
    lfk_sti();
}

static void note(atomic_int **lock) { (void)lock; }

static void take(atomic_int *lock) {
  enter();
  while (atomic_exchange(lock, 1))
    ;
#ifdef KNOWN
  note(&lock);
#endif
}

static void acquire(void) { take(&taken); }

static void release(void) {
#ifdef STORE
  atomic_store_explicit(&taken, 0, memory_order_release);
#else
  atomic_exchange(&taken, 0);
#endif
  leave();
}

static void schedule(void *unused) {
  (void)unused;
  for (;;) {
    lfk_sti();
    acquire();
    int found = ready;
    release();
    if (found)
      lfk_power_off();
  }
}

int main(void) {
  lfk_start_processor(schedule, 0);
  acquire();
#ifndef FORGETS
  ready = 1;
#endif
  release();
  for (;;)
    lfk_hlt();
}
