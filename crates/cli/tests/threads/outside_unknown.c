// A function that nobody knows is handed memory that another thread uses, and nothing orders them: then not everything was seen. Two that may
// both look are left in peace.
// check:
// exit: 5
// limit: unseen
// note: `memfrob`
// check: --checks crash
// exit: 5
// limit: unseen
// check: -DLOCKED
// exit: 0
// check: -DOWN
// exit: 0
// check: -DBOTH
// exit: 0
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <fnmatch.h>
static char *shared, *own;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void enter(void) {
#ifdef LOCKED
  pthread_mutex_lock(&lock);
#endif
}
static void leave(void) {
#ifdef LOCKED
  pthread_mutex_unlock(&lock);
#endif
}
static void *calls(void *unused) {
  enter();
#ifdef OWN
  memfrob(own, 100);
#elif defined BOTH
  (void)fnmatch(shared, "x", 0);
#else
  memfrob(shared, 100);
#endif
  leave();
  return unused;
}
int main(void) {
  pthread_t thread;
  shared = calloc(1, 100);
  own = calloc(1, 100);
  if (!shared || !own)
    return 0;
  pthread_create(&thread, 0, calls, 0);
  enter();
#ifdef BOTH
  (void)fnmatch(shared, "y", 0);
#else
  (void)*(volatile char *)(shared + 90);
#endif
  leave();
  pthread_join(thread, 0);
  return 0;
}
