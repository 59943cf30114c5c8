// Five threads store, and one reads twice: what it reads is one of six values, then the same or one of those that it has not seen. Whose store
// came when otherwise is nobody's business, but for the last one, which is what main would find after the joins: 31 ways to read, 135 with that.
// check: --checks crash --no-symmetry -DREADER
// exit: 0
// schedules: 2520
// equivalence: orders
// check: --checks crash --equivalence reads -DREADER
// exit: 0
// schedules: 135
// equivalence: reads
// check: --checks crash --equivalence reads -DREADER --model sc
// exit: 0
// schedules: 135
// Who reads in the end tells the last one from all others.
// check: --checks crash --equivalence reads -DAFTER
// exit: 0
// schedules: 5
// check: --checks crash --equivalence reads -DAFTER -DFAILS
// exit: 100
// finds: assertion `x != 3` is false
// What every thread exchanges it has read.
// check: --checks crash --equivalence reads -DEXCHANGES
// exit: 0
// schedules: 120
// A mutex tells who had it before.
// check: --checks crash --equivalence reads -DLOCKS
// exit: 0
// schedules: 120
// equivalence: reads
// What gives memory back comes before a store or after it: that is looked at, too.
// check: --equivalence reads -DFREES
// exit: 100
// finds: use-after-free fails under this schedule
// A thread that waits in a loop: what it reads is told apart as always.
// check: --checks crash --equivalence reads -DWAITS
// exit: 100
// finds: deadlock livelock
// equivalence: orders
// note: a thread waits in a loop
// check: --equivalence reads --bound preemptions=1 -DREADER
// exit: 2
// says: cannot be used with
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int x;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int *p;
static void *stores(void *number) {
#ifdef EXCHANGES
  return (void *)(long)atomic_exchange(&x, (int)(long)number);
#elif defined(LOCKS)
  pthread_mutex_lock(&m);
  x = (int)(long)number;
  pthread_mutex_unlock(&m);
#elif defined(FREES)
  if (number == (void *)1)
    free(p);
  else if (number == (void *)2)
    *p = 1;
#elif defined(WAITS)
  if (number == (void *)1)
    while (x != 2)
      ;
  else
    x = (int)(long)number;
#else
  x = (int)(long)number;
#endif
  return 0;
}
int main() {
  pthread_t t[5];
  p = malloc(sizeof *p);
  for (long i = 0; i < 5; i++)
    pthread_create(&t[i], 0, stores, (void *)(i + 1));
#ifdef READER
  int first = x, second = x;
  assert(first == 0 || second != 0);
#endif
  for (int i = 0; i < 5; i++)
    pthread_join(t[i], 0);
#ifdef AFTER
  assert(x != 0);
#ifdef FAILS
  assert(x != 3);
#endif
#endif
  return 0;
}
