// A library that nobody instrumented writes what the thread itself has stored before, and that still waits in its store buffer:
// what is written last stays. (gmtime_r fills a `struct tm`.)
// check: --checks crash --preempt everywhere
// exit: 0
// check: --checks crash --random 200
// exit: 5
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
static struct tm moment;
static _Atomic int other;
static void *unrelated(void *unused) {
  atomic_store_explicit(&other, 1, memory_order_relaxed);
  return 0;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, unrelated, 0);
  moment.tm_year = 7;
  moment.tm_mday = 1;
  time_t start = 0;
  gmtime_r(&start, &moment);
  int seen = atomic_load_explicit(&other, memory_order_relaxed);
  assert(moment.tm_year == 70 && moment.tm_mday == 1 && seen <= 1);
  pthread_join(thread, 0);
  assert(moment.tm_year == 70);
  return 0;
}
