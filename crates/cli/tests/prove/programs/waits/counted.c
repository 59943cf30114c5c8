/* How often a loop turned is state: such a loop is followed up to the bound, and no further. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int flag;

static void *set(void *unused) {
  atomic_store(&flag, 1);
  return unused;
}

int main(void) {
  pthread_t other;
  long turns = 0;
  pthread_create(&other, NULL, set, NULL);
  while (!atomic_load(&flag)) turns++;
  pthread_join(other, NULL);
  assert(turns < MOST);
  return 0;
}
