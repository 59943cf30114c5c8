/* A lock of one word: whoever exchanges 0 for 1 has it. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int held;
static int counter;  /* protected by the lock */

static void lock(void) {
  while (atomic_exchange_explicit(&held, 1, memory_order_acquire))
    ;
}

static void unlock(void) { atomic_store_explicit(&held, 0, memory_order_release); }

static void *add_one(void *unused) {
  lock();
  counter++;  //~ add
  unlock();
  return unused;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, add_one, NULL);
  add_one(NULL);
  pthread_join(other, NULL);
  assert(counter == 2);  //~ fails
  return 0;
}
