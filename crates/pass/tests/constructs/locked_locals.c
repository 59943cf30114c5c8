// A locked instruction orders what it orders wherever its operand lies. What the optimiser keeps in a register is no instruction.
#include "pm.h"
#include <stdatomic.h>

int main(void) {
  int counter = 0;
  __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
  __sync_fetch_and_or(&counter, 2);
  int expected = 7;
  // Not found, and locked all the same.
  assert(!__atomic_compare_exchange_n(&counter, &expected, 9, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  // A store, but of a variable that is in memory anyway.
  __atomic_store_n(&counter, 4, __ATOMIC_SEQ_CST);
  volatile _Atomic int kept = 0;
  kept = 1;
  _Atomic int promoted = 0;
  promoted = 1;
  struct {
    _Atomic int one, two;
  } apart;
  atomic_init(&apart.one, 0);
  apart.two = 2;
  atomic_store_explicit(&kept, 2, memory_order_release);
  assert(counter == 4 && kept == 2 && promoted == 1 && apart.two == 2);
  return 0;
}
