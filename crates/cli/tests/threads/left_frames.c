// Stores to local variables wait in the store buffer while the functions that had them return, and others take their place on
// the stack: a switch to the other thread must not put anything back there.
// also: --equivalence reads
// check: --checks crash
// exit: 0
// check: --checks crash -O2
// exit: 0
// check: --checks crash -DBROKEN
// exit: 100
// finds: assertion
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
static _Atomic int data, flag;

__attribute__((noinline)) static void look(int *numbers) {
  __asm__ volatile("" ::"r"(numbers) : "memory");
}

// Variables of its own, whose address is known elsewhere.
__attribute__((noinline)) static void scribble(int depth, int value) {
  int numbers[24];
  for (int i = 0; i < 24; i++)
    numbers[i] = value;
  look(numbers);
  if (depth)
    scribble(depth - 1, value + 1);
}

// Nothing but calls and registers on the stack; all the time stores wait.
__attribute__((noinline)) static int deep(int depth) {
  int seen = atomic_load_explicit(&flag, memory_order_relaxed);
  return depth ? deep(depth - 1) + seen - seen + 1 : 0;
}

static void *writer(void *unused) {
  atomic_store_explicit(&data, 1, memory_order_relaxed);
  scribble(2, 1);
#ifdef BROKEN
  atomic_store_explicit(&flag, 1, memory_order_relaxed);
  scribble(2, 0);
  atomic_store_explicit(&data, 0, memory_order_relaxed);
#endif
  int depth = deep(2);
  assert(depth == 2);
  atomic_store_explicit(&flag, 1, memory_order_release);
  scribble(2, 0x01010101);
  depth = deep(2);
  assert(depth == 2);
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, writer, 0);
  if (atomic_load_explicit(&flag, memory_order_acquire))
    assert(atomic_load_explicit(&data, memory_order_relaxed) == 1);
  pthread_join(thread, 0);
  return 0;
}
