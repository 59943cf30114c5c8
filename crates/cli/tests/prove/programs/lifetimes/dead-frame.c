/* A helper publishes the address of its variable and takes it back before it returns; another thread may have read it by then. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static _Atomic(int *) shared;
static atomic_int seen;

static void lend(void) {
  int mine = 5;
  atomic_store(&shared, &mine);
#ifdef WAIT
  while (!atomic_load(&seen))
    ;
#endif
  atomic_store(&shared, NULL);
}

static void *borrow(void *unused) {
  int *found = atomic_load(&shared), value = 5;
  if (found) value = *found;
  atomic_store(&seen, 1);
  assert(value == 5);
  return unused;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, borrow, NULL);
  lend();
  pthread_join(other, NULL);
  return 0;
}
