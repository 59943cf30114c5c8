// check:
// exit: 100
// finds: assertion `count == 2` is false
// row: main count = 1
// row: thread 1 count = 1
// row: main fails here
// check: --model sc
// exit: 100
// finds: assertion `count == 2` is false
// row: thread 1 reads count: 0
// row: main reads count: 0
// row: main count = 1
// row: thread 1 count = 1
// check: -DSECTIONS
// exit: 100
// finds: assertion `count == 2` is false
// row: thread 1 reads count with lock locked
// row: main writes count with lock locked
// row: thread 1 writes count with lock locked
// check: -DNESTED
// exit: 100
// finds: assertion `count == 2` is false
// row: thread 1 reads count
// row: main writes count
// row: thread 1 locks lock
// row: thread 1 writes count
// row: main fails here
// check: -DOTHERS
// exit: 100
// finds: assertion `count == 2` is false
// row: thread 2 count = 1
// row: main fails here

// A lost update whose last store comes behind all that the schedule asks for: another thread makes it, before main has joined that one and
// fails. And where a lock orders the accesses, so that they are no steps.
#include <assert.h>
#include <pthread.h>

static int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;

static int get(void) {
  int found;
#if defined SECTIONS || defined NESTED
  pthread_mutex_lock(&lock);
#ifdef NESTED
  pthread_mutex_lock(&other);
  pthread_mutex_unlock(&other);
#endif
  found = count;
  pthread_mutex_unlock(&lock);
#else
  found = count;
#endif
  return found;
}

static void set(int value) {
#if defined SECTIONS || defined NESTED
  pthread_mutex_lock(&lock);
  count = value;
  pthread_mutex_unlock(&lock);
#else
  count = value;
#endif
}

static void *add(void *unused) {
  int found = get();
  set(found + 1);
  return unused;
}

int main(void) {
  pthread_t first;
  pthread_create(&first, 0, add, 0);
#ifdef OTHERS
  // Neither of those that lose one is main.
  pthread_t second;
  pthread_create(&second, 0, add, 0);
  pthread_join(first, 0);
  pthread_join(second, 0);
#else
  add(0);
  pthread_join(first, 0);
#endif
  assert(count == 2);
}
