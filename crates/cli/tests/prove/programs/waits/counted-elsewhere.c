/* A loop that counts in a variable of another thread's function: what it counts is no less a change for that. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static _Atomic(int *) lent;
static atomic_int counted;

static void *lend(void *unused) {
  int turns = 0;
  atomic_store(&lent, &turns);
  while (!atomic_load(&counted))
    ;
  return unused;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, lend, NULL);
  int *turns;
  while (!(turns = atomic_load(&lent)))
    ;
  while (*turns < 3) *turns += 1;
  assert(*turns != REACHED);
  atomic_store(&counted, 1);
  pthread_join(other, NULL);
  return 0;
}
