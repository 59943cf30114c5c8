// A mutex on raw futexes: 0 free, 1 held, 2 held and somebody sleeps.
// check:
// exit: 0
// check: -DBROKEN
// exit: 100
// finds: deadlock
#define _GNU_SOURCE
#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int word;
static int counter;

static void lock(void) {
  int free = 0;
  if (atomic_compare_exchange_strong(&word, &free, 1))
    return;
#ifdef BROKEN
  // It sleeps without having said so: nobody wakes it.
  while (free = 0, !atomic_compare_exchange_strong(&word, &free, 1))
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
#else
  while (atomic_exchange(&word, 2) != 0)
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
#endif
}

static void unlock(void) {
  if (atomic_exchange(&word, 0) == 2)
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *increment(void *unused) {
  lock();
  counter++;
  unlock();
  return unused;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, increment, NULL);
  increment(NULL);
  pthread_join(other, NULL);
  assert(counter == 2);
}
