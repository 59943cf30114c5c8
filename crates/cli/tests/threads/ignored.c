// What a program asks not to judge is no data race; that its order matters is seen all the same.
// check:
// exit: 0
// check: --races limited
// exit: 0
// check: -DJUDGED
// exit: 100
// finds: data-race `hits`
// check: -DONE_SIDE
// exit: 0
// check: -DNESTED
// exit: 0
// check: -DAFTER
// exit: 100
// finds: data-race `others`
// not: data-race `hits`
// check: -DCOUNTED
// exit: 100
// finds: assertion hits == 2
// not: data-race
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
static int hits, others;
static void *hit(void *unused) {
#ifndef JUDGED
  lf_ignore_begin();
#endif
#ifdef NESTED
  lf_ignore_begin();
  lf_ignore_end();
#endif
  hits++;
#ifndef JUDGED
  lf_ignore_end();
#endif
#ifdef AFTER
  others++;
#endif
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, hit, 0);
#ifdef ONE_SIDE
  hits++;
#else
  hit(0);
#endif
  pthread_join(thread, 0);
#ifdef COUNTED
  assert(hits == 2);
#endif
  return 0;
}
