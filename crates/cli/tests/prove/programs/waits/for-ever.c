/* A loop waits for what nobody does. The flag may be set by another thread, or only sometimes. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int flag, other_flag;

static void *set(void *unused) {
#ifdef SOMETIMES
  if (atomic_load(&other_flag)) atomic_store(&flag, 1);
#else
  atomic_store(&flag, 1);
#endif
  return unused;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, set, NULL);
  atomic_store(&other_flag, 1);
  while (!atomic_load(&flag))
    ;
  pthread_join(other, NULL);
  assert(atomic_load(&flag) == 1);
  return 0;
}
