// The id of a thread is stored like anything else: in persistent memory, and where others look for it.
// check: --pm-heap --checks crash
// exit: 0
// check: --checks crash,data-races -DLOOKS
// exit: 100
// finds: data-race
// check: --pm-heap --checks crash -DNESTED
// exit: 0
// check: --checks crash,data-races -DNESTED
// exit: 0
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdlib.h>
static pthread_t *ids;
static void *own(void *at) {
  // libc stores it first.
  assert(pthread_equal(pthread_self(), ids[(long)at]));
#ifdef NESTED
  if ((long)at < 2) {
    pthread_create(&ids[(long)at + 2], 0, own, (void *)((long)at + 2));
    pthread_join(ids[(long)at + 2], 0);
  }
#endif
#ifdef LOOKS
  return (void *)(long)(ids[1] == 0);
#endif
  return 0;
}
int main(void) {
  ids = malloc(4 * sizeof *ids);
  if (lf_failures()) return 0;
  void **answer = malloc(sizeof *answer);
  for (long i = 0; i < 2; i++) pthread_create(&ids[i], 0, own, (void *)i);
  for (long i = 0; i < 2; i++) pthread_join(ids[i], answer);
#ifndef LOOKS
  assert(*answer == 0);
#endif
  return 0;
}
