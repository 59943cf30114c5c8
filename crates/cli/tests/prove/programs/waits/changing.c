/* A loop that keeps what it read: a round in which it found the same again did not happen. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int word;

static void *count(void *unused) {
  int found = atomic_load(&word);
  while (found < 0 || !atomic_compare_exchange_weak(&word, &found, found + 1))
    found = atomic_load(&word);
  return unused;
}

int main(void) {
  pthread_t other[2];
  atomic_store(&word, -1);
  for (int i = 0; i < 2; i++) pthread_create(&other[i], NULL, count, NULL);
  atomic_store(&word, 0);
  for (int i = 0; i < 2; i++) pthread_join(other[i], NULL);
  assert(atomic_load(&word) == 2);
  return 0;
}
