/* Two threads take a block out of one slot and free it. With a load and a store both may get it; with an exchange one does. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(long *) slot;

static void *drop(void *unused) {
#ifdef EXCHANGE
  long *mine = atomic_exchange(&slot, NULL);
#else
  long *mine = atomic_load(&slot);
  atomic_store(&slot, NULL);
#endif
  free(mine);
  return unused;
}

int main(void) {
  atomic_store(&slot, calloc(1, sizeof(long)));
  pthread_t other;
  pthread_create(&other, NULL, drop, NULL);
  drop(NULL);
  pthread_join(other, NULL);
  assert(atomic_load(&slot) == NULL);
  return 0;
}
