// A lock for readers and writers, made of a word. As many schedules as with its waits replaced by assumptions.
// check: --checks crash,data-races -DREADERS=1 -DWRITERS=1
// exit: 0
// schedules: 3
// check: --checks crash,data-races -DREADERS=1 -DWRITERS=1 -DASSUME
// exit: 0
// schedules: 3
// check: --checks crash,data-races -DREADERS=2 -DWRITERS=1 --no-symmetry
// exit: 0
// schedules: 34
// check: --checks crash,data-races -DREADERS=2 -DWRITERS=1
// exit: 0
// schedules: 17
// symmetric: 34
// check: --checks crash,data-races -DREADERS=2 -DWRITERS=1 -DASSUME --no-symmetry
// exit: 0
// schedules: 34
// check: --checks crash,data-races -DREADERS=2 -DWRITERS=2 --no-symmetry
// exit: 0
// schedules: 188
// check: --checks crash,data-races -DREADERS=2 -DWRITERS=2
// exit: 0
// schedules: 47
// symmetric: 188
// check: --checks crash,data-races -DREADERS=2 -DWRITERS=2 -DASSUME --no-symmetry
// exit: 0
// schedules: 188
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>

/* Readers inside, or -1 for a writer. */
static atomic_int inside;
static int first, second;

static void *reads(void *unused) {
#ifdef ASSUME
  int found = atomic_load(&inside);
  lf_assume(found >= 0);
  lf_assume(atomic_compare_exchange_strong(&inside, &found, found + 1));
#else
  for (;;) {
    int found = atomic_load(&inside);
    if (found >= 0 && atomic_compare_exchange_weak(&inside, &found, found + 1))
      break;
  }
#endif
  assert(first == second);
  atomic_fetch_sub(&inside, 1);
  return unused;
}

static void *writes(void *unused) {
#ifdef ASSUME
  int none = 0;
  lf_assume(atomic_compare_exchange_strong(&inside, &none, -1));
#else
  int none;
  do
    none = 0;
  while (!atomic_compare_exchange_strong(&inside, &none, -1));
#endif
  first++;
  second++;
  atomic_store(&inside, 0);
  return unused;
}

int main(void) {
  pthread_t threads[READERS + WRITERS];
  for (int i = 0; i < READERS + WRITERS; i++)
    pthread_create(&threads[i], 0, i < READERS ? reads : writes, 0);
  for (int i = 0; i < READERS + WRITERS; i++)
    pthread_join(threads[i], 0);
  assert(first == WRITERS);
}
