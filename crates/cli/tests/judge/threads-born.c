// expect: robustness lost first kept then
// says: "primary":true,"thread":0
// says: "primary":false,"thread":1
/* The thread is created after the store: it has seen it. */
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static struct two {
  _Alignas(64) atomic_int first;
  _Alignas(64) atomic_int then;
} *two;

static void *work(void *unused) {
  atomic_store_explicit(&two->then, 1, memory_order_release); //~ then
  lf_persist(&two->then, sizeof two->then);
  return unused;
}

int main(void) {
  two = lf_pm(sizeof *two);
  if (lf_failures())
    return two->then == 77 || two->first == 77;
  atomic_store_explicit(&two->first, 1, memory_order_release); //~ first
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  pthread_join(thread, NULL);
  lf_persist(&two->first, sizeof two->first);
  return 0;
}
