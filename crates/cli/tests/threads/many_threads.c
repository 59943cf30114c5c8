// As many threads as programs have: alive at once, or one after the other. Who has joined a thread gives its number to the next.
// check: -DALIVE=256
// exit: 0
// schedules: 1
// check: -DALIVE=256 --model sc
// exit: 0
// schedules: 1
// check: -DALIVE=511
// exit: 0
// schedules: 1
// check: -DIN_TURN=256
// exit: 0
// schedules: 1
// check: -DIN_TURN=1000
// exit: 0
// schedules: 1
// check: -DIN_TURN=1000 --model sc
// exit: 0
// schedules: 1
// check: -DMEET=256 --random 1
// exit: 5
// limit: random
// check: -DMEET=40 --random 3
// exit: 5
// check: -DPAIRS=2
// exit: 0
// check: -DPAIRS=2 -DRACES
// exit: 100
// finds: data-race
// check: -DPAIRS=2 -DCOUNTS
// exit: 100
// finds: assertion
// check: -DLEAVES
// exit: 100
// finds: deadlock
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static __thread int own = 7;
static int done;

static void *works(void *unused) {
  assert(own == 7);
  own++;
  done++;
  return unused;
}

#ifdef ALIVE
static int marks[ALIVE];
static void *marks_one(void *at) {
  marks[(long)at] = 1;
  return at;
}
static void alive(void) {
  static pthread_t threads[ALIVE];
  for (long i = 0; i < ALIVE; i++)
    assert(!pthread_create(&threads[i], 0, marks_one, (void *)i));
  for (long i = 0; i < ALIVE; i++) {
    void *result;
    pthread_join(threads[i], &result);
    assert(result == (void *)i && marks[i]);
  }
}
#endif

#ifdef MEET
static pthread_barrier_t all;
static void *meets(void *unused) {
  pthread_barrier_wait(&all);
  return unused;
}
static void meet(void) {
  static pthread_t threads[MEET];
  pthread_barrier_init(&all, 0, MEET);
  for (int i = 0; i < MEET; i++)
    assert(!pthread_create(&threads[i], 0, meets, 0));
  for (int i = 0; i < MEET; i++)
    pthread_join(threads[i], 0);
}
#endif

#ifdef PAIRS
/* Two at a time, whose numbers the next two have. What they allocated is still there. */
static atomic_int sum;
static int plain;
static void *adds(void *unused) {
  int *made = malloc(sizeof *made);
  *made = atomic_fetch_add(&sum, 1);
#ifdef RACES
  plain++;
#endif
  return made;
}
static void pairs(void) {
  int *made[2 * PAIRS];
  for (int pair = 0; pair < PAIRS; pair++) {
    pthread_t a, b;
    pthread_create(&a, 0, adds, 0);
    pthread_create(&b, 0, adds, 0);
    pthread_join(a, (void **)&made[2 * pair]);
    pthread_join(b, (void **)&made[2 * pair + 1]);
    plain++;
  }
  for (int i = 0; i < 2 * PAIRS; i++)
    for (int j = 0; j < i; j++)
      assert(made[i] != made[j] && *made[i] != *made[j]);
#ifdef COUNTS
  assert(*made[2] < *made[3]);
#endif
  for (int i = 0; i < 2 * PAIRS; i++)
    free(made[i]);
}
#endif

#ifdef LEAVES
/* Who ends with a lock still has it, whoever comes next. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *locks(void *unused) {
  pthread_mutex_lock(&lock);
  return unused;
}
#endif

int main(void) {
#ifdef ALIVE
  alive();
#endif
#ifdef IN_TURN
  for (int i = 0; i < IN_TURN; i++) {
    pthread_t thread;
    assert(!pthread_create(&thread, 0, works, 0));
    pthread_join(thread, 0);
  }
  assert(done == IN_TURN);
#endif
#ifdef MEET
  meet();
#endif
#ifdef PAIRS
  pairs();
#endif
#ifdef LEAVES
  for (int i = 0; i < 2; i++) {
    pthread_t thread;
    pthread_create(&thread, 0, locks, 0);
    pthread_join(thread, 0);
  }
#endif
  (void)works, (void)done;
}
