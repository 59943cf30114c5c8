// A lock of the program's own making, which it names (lf_lock, lf_unlock): both relations know it, and two who hold it at once are told.
// check:
// exit: 0
// schedules: 3
// check: --races limited
// exit: 0
// schedules: 3
// check: --races limited --model sc
// exit: 0
// check: --races limited -DSILENT
// exit: 100
// finds: data-race
// check: -DSILENT
// exit: 0
// schedules: 3
// check: -DBROKEN -DTIMES=1
// exit: 100
// finds: lock-misuse which thread
// finds: data-race `x`
// check: -DBROKEN -DTIMES=1 --model sc --checks locks
// exit: 100
// finds: lock-misuse which thread
// check: -DNO_FENCE -DTIMES=1
// exit: 100
// finds: lock-misuse which thread
// check: -DNO_FENCE -DTIMES=1 --model sc --races limited
// exit: 0
// check: -DTWICE
// exit: 0
// check: -DUNHELD
// exit: 100
// finds: lock-misuse unlocks `lock`, which nobody holds
// check: -DORDERS -DTIMES=1
// exit: 100
// finds: deadlock livelock
// note: reads `lock` again and again
// note: reads `second` again and again
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#ifndef TIMES
#define TIMES 2
#endif
#ifdef SILENT
#define lf_lock(lock) (void)(lock)
#define lf_unlock(lock) (void)(lock)
#endif
static int x, owner;
#ifdef NO_FENCE
// Peterson's: without a fence behind the store, both may enter.
static atomic_int wants[2], turn;
static void take(int me) {
  atomic_store_explicit(&wants[me], 1, memory_order_release);
  atomic_store_explicit(&turn, !me, memory_order_release);
  while (atomic_load_explicit(&wants[!me], memory_order_acquire) && atomic_load_explicit(&turn, memory_order_acquire) == !me)
    sched_yield();
  lf_lock(&turn);
}
static void give(int me) {
  lf_unlock(&turn);
  atomic_store_explicit(&wants[me], 0, memory_order_release);
}
#else
static atomic_int lock;
#ifdef ORDERS
static atomic_int second;
#endif
static void take_one(atomic_int *lock) {
#ifdef BROKEN
  while (atomic_load(lock))
    sched_yield();
  atomic_store(lock, 1); /* looked, then took */
#else
  while (atomic_exchange(lock, 1))
    sched_yield();
#endif
  lf_lock(lock);
}
static void give_one(atomic_int *lock) {
#ifdef UNHELD
  lf_unlock(lock);
#endif
  lf_unlock(lock);
  atomic_store_explicit(lock, 0, memory_order_release);
}
static void take(int me) {
#ifdef ORDERS
  if (me) {
    take_one(&second);
    take_one(&lock);
    give_one(&second);
    return;
  }
#endif
  take_one(&lock);
#ifdef ORDERS
  take_one(&second);
  give_one(&second);
#endif
#ifdef TWICE
  lf_lock(&lock);
  lf_unlock(&lock);
#endif
}
static void give(int me) { give_one(&lock); }
#endif
static void *count(void *number) {
  int me = number != 0;
  for (int i = 0; i < TIMES; i++) {
    take(me);
    owner = me;
    x++;
    give(me);
  }
  return 0;
}
int main(void) {
  pthread_t a, b;
#if defined(NO_FENCE) || defined(ORDERS)
  pthread_create(&a, 0, count, (void *)0);
  pthread_create(&b, 0, count, (void *)1);
#else
  pthread_create(&a, 0, count, 0);
  pthread_create(&b, 0, count, 0);
#endif
  pthread_join(a, 0);
  pthread_join(b, 0);
#if !defined(BROKEN) && !defined(NO_FENCE)
  assert(x == 2 * TIMES);
#endif
  return 0;
}
