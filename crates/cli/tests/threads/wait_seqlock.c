// A lock of a number: readers look again if it was odd, or is another one. As many schedules as with its waits replaced by assumptions.
// check: --checks crash,data-races -DREADERS=1 -DWRITERS=1 -DTIMES=1
// exit: 0
// schedules: 2
// check: --checks crash,data-races -DREADERS=1 -DWRITERS=1 -DTIMES=1 -DASSUME
// exit: 0
// schedules: 2
// check: --checks crash,data-races -DREADERS=1 -DWRITERS=1 -DTIMES=2
// exit: 0
// schedules: 3
// check: --checks crash,data-races -DREADERS=1 -DWRITERS=1 -DTIMES=2 -DASSUME
// exit: 0
// schedules: 3
// check: --checks crash,data-races -DREADERS=1 -DWRITERS=2 -DTIMES=1 --no-symmetry
// exit: 0
// schedules: 6
// check: --checks crash,data-races -DREADERS=1 -DWRITERS=2 -DTIMES=1
// exit: 0
// schedules: 3
// symmetric: 6
// check: --checks crash,data-races -DREADERS=1 -DWRITERS=2 -DTIMES=1 -DASSUME --no-symmetry
// exit: 0
// schedules: 6
// check: --checks crash,data-races -DREADERS=2 -DWRITERS=1 -DTIMES=1 --no-symmetry
// exit: 0
// schedules: 4
// check: --checks crash,data-races -DREADERS=2 -DWRITERS=1 -DTIMES=1
// exit: 0
// schedules: 3
// symmetric: 4
// check: --checks crash,data-races -DREADERS=2 -DWRITERS=1 -DTIMES=1 -DASSUME --no-symmetry
// exit: 0
// schedules: 4
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_uint number;
static atomic_int first, second;

static void *writes(void *unused) {
  for (int i = 1; i <= TIMES; i++) {
#ifdef ASSUME
    unsigned found = atomic_load(&number);
    lf_assume(found % 2 == 0);
    lf_assume(atomic_compare_exchange_strong(&number, &found, found + 1));
#else
    unsigned found;
    do
      while ((found = atomic_load(&number)) % 2)
        ;
    while (!atomic_compare_exchange_strong(&number, &found, found + 1));
#endif
    atomic_store(&first, atomic_load(&first) + 1);
    atomic_store(&second, atomic_load(&second) + 1);
    atomic_store(&number, found + 2);
  }
  return unused;
}

static void *reads(void *unused) {
  unsigned before;
  int a, b;
#ifdef ASSUME
  before = atomic_load(&number);
  lf_assume(before % 2 == 0);
  a = atomic_load(&first);
  b = atomic_load(&second);
  lf_assume(atomic_load(&number) == before);
#else
  do {
    while ((before = atomic_load(&number)) % 2)
      ;
    a = atomic_load(&first);
    b = atomic_load(&second);
  } while (atomic_load(&number) != before);
#endif
  assert(a == b);
  return unused;
}

int main(void) {
  pthread_t threads[READERS + WRITERS];
  for (int i = 0; i < READERS + WRITERS; i++)
    pthread_create(&threads[i], 0, i < READERS ? reads : writes, 0);
  for (int i = 0; i < READERS + WRITERS; i++)
    pthread_join(threads[i], 0);
  assert(first == WRITERS * TIMES && second == first);
}
