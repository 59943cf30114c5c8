// A turn that leaves everything as it was did happen where somebody has seen it: the lock that was held, the word that was set.
// check: --checks crash -DPOLL=under_lock() -DLOOK=try()
// exit: 100
// finds: assertion `taken` is false
// check: --checks crash -DPOLL=under_lock() -DLOOK=try() --model sc -O2
// exit: 100
// finds: assertion `taken` is false
// check: --checks crash -DPOLL=under_lock() -DLOOK=wait()
// exit: 0
// schedules: 1
// check: --checks crash -DPOLL=announced() -DLOOK=read()
// exit: 100
// finds: assertion `!seen` is false
// check: --checks crash -DPOLL=announced() -DLOOK=nothing()
// exit: 0
// schedules: 1
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include "../support/threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready;
static atomic_int go, word;

static void under_lock(void) {
  for (;;) {
    pthread_mutex_lock(&lock);
    int done = ready;
    pthread_mutex_unlock(&lock);
    if (done)
      break;
  }
}
static void announced(void) {
  for (;;) {
    atomic_fetch_add(&word, 1);
    int done = atomic_load(&go);
    atomic_fetch_sub(&word, 1);
    if (done)
      break;
  }
}

static void try(void) {
  int taken = !pthread_mutex_trylock(&lock);
  if (!taken)
    pthread_mutex_lock(&lock);
  ready = 1;
  pthread_mutex_unlock(&lock);
  assert(taken);
}
static void wait(void) {
  pthread_mutex_lock(&lock);
  ready = 1;
  pthread_mutex_unlock(&lock);
}
/* Before the last turn, so that only one in vain can be seen. */
static void read(void) {
  int seen = atomic_load(&word);
  atomic_store(&go, 1);
  assert(!seen);
}
static void nothing(void) {
  atomic_store(&go, 1);
}

static void *polls(void *unused) {
  POLL;
  return unused;
}
static void *looks(void *unused) {
  LOOK;
  return unused;
}

int main(void) {
  run_both(polls, looks);
  (void)under_lock, (void)announced, (void)try, (void)wait, (void)read, (void)nothing;
}
