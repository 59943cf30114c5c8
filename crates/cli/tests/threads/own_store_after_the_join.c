// check: -O0
// exit: 100
// finds: assertion word != 2
// prove: 100
/* Where the store of `main` reaches memory before it is alone, its last load is no step: the failure is the same. An internal error once. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static _Atomic long word, other;

static void *add(void *unused) {
  long old = word;
  atomic_compare_exchange_strong(&word, &old, old + 1);
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, add, NULL);
  atomic_store_explicit(&word, 2, memory_order_release);
  (void)atomic_load(&other);
  pthread_join(thread, NULL);
  assert(word != 2);
  return 0;
}
