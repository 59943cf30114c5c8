/* BROKEN: both stores may still be in the store buffer when the thread looks at the other one's.
 *
 * Missing: a full fence before the loop, or a sequentially consistent store to `turn`. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int wants[2];
static atomic_int turn;
static int counter;

static void *add_one(void *number) {
  int me = number != NULL;
  atomic_store_explicit(&wants[me], 1, memory_order_release);
  atomic_store_explicit(&turn, 1 - me, memory_order_release);
  while (atomic_load_explicit(&wants[1 - me], memory_order_acquire) &&
         atomic_load_explicit(&turn, memory_order_acquire) == 1 - me)
    ;
  counter++;  //~ add
  atomic_store_explicit(&wants[me], 0, memory_order_release);
  return NULL;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, add_one, &other);
  add_one(NULL);
  pthread_join(other, NULL);
  assert(counter == 2);  //~ fails
  return 0;
}
