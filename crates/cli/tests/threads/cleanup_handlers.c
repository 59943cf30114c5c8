// Handlers run when a thread ends itself, the innermost first, and not those that were popped.
// check: --checks crash
// exit: 0
// check: --checks crash -O2
// exit: 0
// check: --checks crash -fexceptions
// exit: 0
// check: --checks crash -O1 -DFORGETS
// exit: 100
// finds: assertion
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static int order, last;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void note(void *digit) {
  pthread_mutex_lock(&lock);
  order = order * 10 + *(int *)digit;
  pthread_mutex_unlock(&lock);
}
static void release(void *held) {
  pthread_mutex_unlock(held);
}

static int one = 1, two = 2, three = 3, four = 4;

static void ends(void) {
  pthread_cleanup_push(note, &three);
  pthread_cleanup_push(note, &four);
  pthread_cleanup_pop(1);
  pthread_cleanup_push(note, &two);
#ifdef FORGETS
  exit(0);
#else
  pthread_exit(&last);
#endif
  pthread_cleanup_pop(0);
  pthread_cleanup_pop(0);
}
static void *ended(void *unused) {
  pthread_cleanup_push(note, &one);
  ends();
  pthread_cleanup_pop(0);
  return unused;
}
static void *holds(void *unused) {
  pthread_mutex_lock(&lock);
  pthread_cleanup_push(release, &lock);
#ifdef FORGETS
  return unused;
#else
  pthread_exit(unused);
#endif
  pthread_cleanup_pop(0);
  return unused;
}

int main(void) {
  pthread_t a, b;
  void *result;
  pthread_create(&a, 0, holds, 0);
  pthread_join(a, 0);
#ifdef FORGETS
  assert(!pthread_mutex_trylock(&lock));
#endif
  pthread_create(&a, 0, ended, 0);
  pthread_create(&b, 0, holds, 0);
  pthread_join(b, 0);
  pthread_join(a, &result);
  assert(result == &last && order == 4231);
}
