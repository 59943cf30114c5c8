/* The heart of Dekker's algorithm: say that you want to, then look whether the other one does. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int wants[2];
static atomic_int inside;

static void *enter(void *number) {
  int me = number != NULL;
  atomic_store_explicit(&wants[me], 1, memory_order_release);
  atomic_thread_fence(memory_order_seq_cst);
  if (atomic_load_explicit(&wants[1 - me], memory_order_acquire) == 0) {
    int others = atomic_fetch_add(&inside, 1);
    assert(others == 0);  //~ fails
    atomic_fetch_sub(&inside, 1);
  }
  atomic_store_explicit(&wants[me], 0, memory_order_release);
  return NULL;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, enter, &other);
  enter(NULL);
  pthread_join(other, NULL);
  return 0;
}
