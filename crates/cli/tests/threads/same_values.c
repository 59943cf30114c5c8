// Six threads store 1, and one reads: whose 1 it is is nobody's business.
// check: --checks crash --equivalence orders --no-symmetry -DEQUAL
// exit: 0
// schedules: 5040
// check: --checks crash --equivalence values -DEQUAL
// exit: 0
// schedules: 2
// equivalence: values
// check: --checks crash --equivalence values -DEQUAL --model sc
// exit: 0
// schedules: 2
// check: --checks crash --equivalence values -DEQUAL -DFAILS
// exit: 100
// finds: assertion `r == 0` is false
// Who has a lock after whom is told, whatever the lock's word says.
// check: --checks crash --equivalence values -DLOCKS
// exit: 0
// schedules: 720
// Whether d is stored in order depends on whose 1 was read.
// check: --equivalence values
// exit: 100
// finds: data-race on `d`
// check: --equivalence values -DFENCES
// exit: 100
// finds: data-race on `d`
// check: --equivalence values -DWAITS
// exit: 0
// equivalence: orders
// note: a thread waits in a loop
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int f;
static int d;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
#if defined(EQUAL) || defined(LOCKS)
static void *stores(void *unused) {
#ifdef LOCKS
  pthread_mutex_lock(&m);
  f = 1;
  pthread_mutex_unlock(&m);
#else
  f = 1;
#endif
  return 0;
}
static void *reads(void *unused) {
#ifdef EQUAL
  int r = f;
#ifdef FAILS
  assert(r == 0);
#endif
#endif
  return 0;
}
enum { N = 7 };
static void *(*const of[N])(void *) = {stores, stores, stores, stores, stores, stores, reads};
#else
static void *data(void *unused) {
  d = 1;
  atomic_store_explicit(&f, 1, memory_order_release);
  return 0;
}
static void *flag(void *unused) {
#ifndef WAITS
  atomic_store_explicit(&f, 1, memory_order_release);
#endif
  return 0;
}
static void *again(void *unused) {
#ifdef FENCES
  if (atomic_load_explicit(&f, memory_order_relaxed) == 1) {
    atomic_thread_fence(memory_order_acquire);
    d = 1;
  }
#elif defined(WAITS)
  while (!atomic_load_explicit(&f, memory_order_acquire))
    ;
  d = 1;
#else
  if (atomic_load_explicit(&f, memory_order_acquire) == 1)
    d = 1;
#endif
  return 0;
}
enum { N = 3 };
static void *(*const of[N])(void *) = {data, flag, again};
#endif
int main(void) {
  pthread_t t[N];
  for (int i = 0; i < N; i++)
    pthread_create(&t[i], 0, of[i], 0);
  for (int i = 0; i < N; i++)
    pthread_join(t[i], 0);
  return 0;
}
