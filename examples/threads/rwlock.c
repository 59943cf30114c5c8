/* A reader-writer lock of one word: readers count up from 0, a writer exchanges 0 for -1. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int state;  /* readers, or -1 for a writer */
static int data[2];

static void read_lock(void) {
  int seen = atomic_load(&state);
  while (seen < 0 || !atomic_compare_exchange_weak(&state, &seen, seen + 1))
    seen = atomic_load(&state);
}

static void read_unlock(void) { atomic_fetch_sub(&state, 1); }

static void write_lock(void) {
  int none = 0;
  while (!atomic_compare_exchange_weak(&state, &none, -1))
    none = 0;
}

static void write_unlock(void) { atomic_store(&state, 0); }

static void *write_both(void *unused) {
  write_lock();
  data[0] = 1;  //~ first
  data[1] = 1;  //~ second
  write_unlock();
  return unused;
}

int main(void) {
  pthread_t writer;
  pthread_create(&writer, NULL, write_both, NULL);
  read_lock();
  int first = data[0], second = data[1];
  read_unlock();
  assert(first == second);  //~ fails
  pthread_join(writer, NULL);
  return 0;
}
