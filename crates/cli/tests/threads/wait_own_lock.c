// check:
// exit: 0
// schedules: 1
// check: --model sc
// exit: 0
// schedules: 1
// check: -DEXCHANGE
// exit: 0
// schedules: 1
// check: -DNOBODY
// exit: 100
// finds: deadlock livelock
// check: -DNOBODY --model sc
// exit: 100
// finds: deadlock livelock
// check: -DNOBODY -DEXCHANGE
// exit: 100
// finds: deadlock livelock
// check: -DNOBODY -DALONE
// exit: 100
// finds: deadlock livelock
// note: reads `ready` again and again
// check: -DTRIES
// exit: 100
// finds: assertion `!tried` is false
// check: -DEARLY
// exit: 100
// finds: assertion `seen || !missed` is false
// check: -DEARLY --model sc
// exit: 0

// Threads that look under a lock of their own, given back by a store that waits in the store buffer, until somebody has done something: such a
// turn is in vain. Where nobody does, all go round for ever, be they one or two. Where somebody tries to take the lock, it may be taken; and a store
// that leaves the buffer late (EARLY) is seen late, whatever its thread's turns are.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int locked;
static int ready, tried;
static atomic_int flag, other, missed;

static void lock(void) {
  while (atomic_exchange(&locked, 1))
    ;
}

static void unlock(void) {
#ifdef EXCHANGE
  atomic_exchange(&locked, 0);
#else
  atomic_store_explicit(&locked, 0, memory_order_release);
#endif
}

static void *poll(void *unused) {
#ifdef EARLY
  atomic_store_explicit(&flag, 1, memory_order_release);
  if (!atomic_load(&other))
    atomic_store(&missed, 1);
#endif
  for (;;) {
    lock();
    int seen = ready;
    unlock();
    if (seen)
      return unused;
  }
}

int main(void) {
  pthread_t first, second;
  pthread_create(&first, 0, poll, 0);
#ifndef ALONE
  pthread_create(&second, 0, poll, 0);
#endif
#ifndef NOBODY
#ifdef TRIES
  tried = atomic_exchange(&locked, 1);
  if (!tried)
    unlock();
  assert(!tried);
#endif
#ifdef EARLY
  atomic_store_explicit(&other, 1, memory_order_release);
  int seen = atomic_load(&flag);
#endif
  lock();
  ready = 1;
  unlock();
#endif
  pthread_join(first, 0);
#ifndef ALONE
  pthread_join(second, 0);
#endif
#ifdef EARLY
  // One of the two has seen the other.
  assert(seen || !missed);
#endif
}
