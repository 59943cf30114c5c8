// Threads that set two words, one after the other, and one that looks at them: it may see them half set. Setters wait for their turn
// unless they come IN_ANY_ORDER. As many schedules as with their waits replaced by assumptions.
// check: --checks crash,data-races -DN=3 -DWAITS
// exit: 0
// schedules: 1
// check: --checks crash,data-races -DN=3 -DWAITS -DASSUME
// exit: 0
// schedules: 1
// check: --checks crash,data-races -DN=8 -DWAITS
// exit: 0
// schedules: 1
// check: --checks crash,data-races -DN=8 -DWAITS -DASSUME
// exit: 0
// schedules: 1
// check: --checks crash -DN=3
// exit: 100
// finds: assertion
// check: --checks crash -DN=3 -DIN_ANY_ORDER
// exit: 100
// finds: assertion
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int turn, a, b;

static void *sets(void *own) {
#ifndef IN_ANY_ORDER
#ifdef ASSUME
  lf_assume(atomic_load(&turn) == (int)(long)own);
#else
  while (atomic_load(&turn) != (int)(long)own)
    ;
#endif
#endif
  atomic_store(&a, 1);
  atomic_store(&b, -1);
  atomic_fetch_add(&turn, 1);
  return NULL;
}

static void *looks(void *unused) {
#ifdef WAITS
#ifdef ASSUME
  lf_assume(atomic_load(&turn) == N - 1);
#else
  while (atomic_load(&turn) != N - 1)
    ;
#endif
#endif
  int first = atomic_load(&a), second = atomic_load(&b);
  assert((first == 0 && second == 0) || (first == 1 && second == -1));
  return unused;
}

int main(void) {
  pthread_t threads[N];
  for (long i = 0; i < N; i++)
    pthread_create(&threads[i], 0, i < N - 1 ? sets : looks, (void *)i);
  for (int i = 0; i < N; i++)
    pthread_join(threads[i], 0);
}
