// A deque: its owner puts and takes at one end, thieves steal at the other, and try until there is nothing left (Chase and Lev). As many
// schedules as with its waits replaced by assumptions.
// check: --checks crash,data-races -DITEMS=1 -DTHIEVES=1
// exit: 0
// schedules: 9
// check: --checks crash,data-races -DITEMS=1 -DTHIEVES=1 -DASSUME
// exit: 0
// schedules: 9
// check: --checks crash,data-races -DITEMS=2 -DTHIEVES=1
// exit: 0
// schedules: 16
// check: --checks crash,data-races -DITEMS=2 -DTHIEVES=1 -DASSUME
// exit: 0
// schedules: 16
// check: --checks crash,data-races -DITEMS=2 -DTHIEVES=2 --no-symmetry
// exit: 0
// schedules: 155
// check: --checks crash,data-races -DITEMS=2 -DTHIEVES=2
// exit: 0
// schedules: 81
// symmetric: 155
// check: --checks crash,data-races -DITEMS=2 -DTHIEVES=2 -DASSUME --no-symmetry
// exit: 0
// schedules: 155
// check: --checks crash -DITEMS=2 -DTHIEVES=2 -DBROKEN
// exit: 100
// finds: assertion
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int top, bottom, items[4], done;
static atomic_int taken[ITEMS + 1];

static void got(int item) { assert(!atomic_exchange(&taken[item], 1)); }

static void put(int item) {
  int at = atomic_load(&bottom);
  atomic_store(&items[at % 4], item);
  atomic_store(&bottom, at + 1);
}

static int take(void) {
  int at = atomic_load(&bottom) - 1, item = 0;
  atomic_store_explicit(&bottom, at, memory_order_relaxed);
#ifndef BROKEN
  atomic_thread_fence(memory_order_seq_cst);
#endif
  int from = atomic_load(&top);
  if (from <= at) {
    item = atomic_load(&items[at % 4]);
    if (from < at)
      return item;
    if (!atomic_compare_exchange_strong(&top, &from, from + 1))
      item = 0;
  }
  atomic_store(&bottom, at + 1);
  return item;
}

/* Of one attempt: an item, 0 if there is none, -1 if somebody was faster. */
static int steal(void) {
  int from = atomic_load(&top), to = atomic_load(&bottom);
  if (from >= to)
    return 0;
  int item = atomic_load(&items[from % 4]);
  return atomic_compare_exchange_strong(&top, &from, from + 1) ? item : -1;
}

static void *owns(void *unused) {
  for (int i = 1; i <= ITEMS; i++)
    put(i);
  for (int item; (item = take());)
    got(item);
  atomic_store(&done, 1);
  return unused;
}

static void *steals(void *unused) {
  int item;
#ifdef ASSUME
  item = steal();
  lf_assume(item > 0 || (item == 0 && atomic_load(&done)));
#else
  do
    item = steal();
  while (item < 0 || (item == 0 && !atomic_load(&done)));
#endif
  if (item)
    got(item);
  return unused;
}

int main(void) {
  pthread_t threads[THIEVES + 1];
  pthread_create(&threads[THIEVES], 0, owns, 0);
  for (int i = 0; i < THIEVES; i++)
    pthread_create(&threads[i], 0, steals, 0);
  for (int i = 0; i <= THIEVES; i++)
    pthread_join(threads[i], 0);
  for (int i = 1; i <= ITEMS; i++)
    assert(taken[i]);
}
