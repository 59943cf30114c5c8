// Fences of the language. A signal fence is for the compiler only.
#include "pm.h"
#include <stdatomic.h>

int main(void) {
  atomic_thread_fence(memory_order_acquire);
  atomic_thread_fence(memory_order_release);
  atomic_thread_fence(memory_order_acq_rel);
  atomic_thread_fence(memory_order_seq_cst);
  atomic_thread_fence(memory_order_relaxed);
  atomic_signal_fence(memory_order_seq_cst);
  __sync_synchronize();
  return 0;
}
