// Atomic operations call the runtime wherever they go; of one on a variable nobody else can see, it hears that there was one.
#include "pm.h"
#include <stdatomic.h>

static _Atomic int shared;
static _Thread_local int private_counter;

int main(void) {
  atomic_fetch_add(&shared, 1);
  assert(atomic_load_explicit(&shared, memory_order_acquire) == 1);
  _Atomic int local = 1;
  atomic_fetch_add(&local, 1);
  __atomic_fetch_add(&private_counter, 1, __ATOMIC_RELAXED);
  assert(local == 2);
  return 0;
}
