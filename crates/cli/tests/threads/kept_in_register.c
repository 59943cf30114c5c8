// A store to a variable that never leaves its function is an xchg where nothing is optimised, and nothing at all where the
// optimiser keeps the variable in a register: then there is no fence.
// check: --checks crash
// exit: 0
// check: --checks crash -O1
// exit: 100
// finds: assertion
// check: --checks crash -O2
// exit: 100
// finds: assertion
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static _Atomic int x, y;
static int a, b;

static void *other(void *unused) {
  _Atomic int local = 0;
  atomic_store_explicit(&x, 1, memory_order_relaxed);
  local = 1;
  a = atomic_load_explicit(&y, memory_order_relaxed);
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, other, 0);
  _Atomic int local = 0;
  atomic_store_explicit(&y, 1, memory_order_relaxed);
  local = 1;
  b = atomic_load_explicit(&x, memory_order_relaxed);
  pthread_join(thread, 0);
  assert(a || b);
  return 0;
}
