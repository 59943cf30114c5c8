// Functions that are trusted are no part of the search, nor of data races; what they keep is theirs. The summary says what was assumed.
// check: -DTRUSTED
// exit: 0
// schedules: 1
// assumes: `trace` is trusted
// check:
// exit: 100
// finds: data-race `events`
// check: -DTRUSTED -DLOCKED
// exit: 0
// schedules: 1
// check: -DTRUSTED -DATOMIC
// exit: 0
// schedules: 1
// check: -DTRUSTED -DUSED
// exit: 100
// finds: data-race `x`
// finds: assertion x == 2
// check: -DTRUSTED -DSENT
// exit: 0
// check: -DTRUSTED -DJUMPED
// exit: 100
// finds: data-race `x`
// check: -DTRUSTED -DOUTSIDE
// exit: 0
// schedules: 1
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#ifndef TRUSTED
#undef lf_trusted
#define lf_trusted
#endif
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int events, x;
static atomic_int all;
static char last[64];
static _Thread_local jmp_buf back;

static void deeper(int what) { events += what; }

lf_trusted static int trace(int what) {
#ifdef LOCKED
  pthread_mutex_lock(&m);
#endif
  deeper(what);
#ifdef ATOMIC
  atomic_fetch_add(&all, 1);
  int expected = 7;
  atomic_compare_exchange_strong(&all, &expected, 8);
#endif
#ifdef OUTSIDE
  snprintf(last, sizeof last, "%d", what);
  memmove(last + 1, last, 8);
#endif
#ifdef LOCKED
  pthread_mutex_unlock(&m);
#endif
#ifdef JUMPED
  longjmp(back, 1);
#endif
  return events;
}

static void *work(void *unused) {
#ifdef SENT
  events++; /* may wait in the store buffer; the trusted function finds it all the same */
  int sent = events;
#endif
#ifdef JUMPED
  if (!setjmp(back))
#endif
    trace(1);
#ifdef SENT
  assert(events == sent + 1);
#endif
#if defined(USED) || defined(JUMPED)
  x++;
#endif
  return unused;
}

int main(void) {
  pthread_t thread;
#ifdef SENT
  work(0);
  pthread_create(&thread, 0, work, 0);
  pthread_join(thread, 0);
#else
  pthread_create(&thread, 0, work, 0);
  work(0);
  pthread_join(thread, 0);
#endif
#ifdef USED
  assert(x == 2);
#endif
  return 0;
}
