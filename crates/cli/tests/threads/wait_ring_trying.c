// A ring whose operations fail where it is full or empty, each with a copy of the other's index; who fails tries again. As many schedules
// as with that replaced by assumptions.
// check: --checks crash,data-races -DN=3
// exit: 0
// schedules: 5
// check: --checks crash,data-races -DN=3 -DASSUME
// exit: 0
// schedules: 5
// check: --checks crash,data-races -DN=4
// exit: 0
// schedules: 12
// check: --checks crash,data-races -DN=4 -DASSUME
// exit: 0
// schedules: 12
#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "../support/threads.h"

#define ROOM 2
static struct {
  int values[ROOM];
  atomic_uint head, tail;
  unsigned head_copy, tail_copy;
} ring;

static bool try_put(int value) {
  unsigned at = atomic_load_explicit(&ring.tail, memory_order_relaxed);
  if (at - ring.head_copy == ROOM) {
    ring.head_copy = atomic_load_explicit(&ring.head, memory_order_acquire);
    if (at - ring.head_copy == ROOM)
      return false;
  }
  ring.values[at % ROOM] = value;
  atomic_store_explicit(&ring.tail, at + 1, memory_order_release);
  return true;
}

static bool try_take(int *value) {
  unsigned at = atomic_load_explicit(&ring.head, memory_order_relaxed);
  if (at == ring.tail_copy) {
    ring.tail_copy = atomic_load_explicit(&ring.tail, memory_order_acquire);
    if (at == ring.tail_copy)
      return false;
  }
  *value = ring.values[at % ROOM];
  atomic_store_explicit(&ring.head, at + 1, memory_order_release);
  return true;
}

static void *puts_all(void *unused) {
  for (int i = 1; i <= N; i++)
    WAIT(try_put(i));
  return unused;
}

static void *takes_all(void *unused) {
  for (int i = 1; i <= N; i++) {
    int value = 0;
    WAIT(try_take(&value));
    assert(value == i);
  }
  return unused;
}

int main(void) {
  run_both(puts_all, takes_all);
}
