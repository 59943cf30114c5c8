// flags: --checks races
// expect: persistency-race racing torn
/* Under a lock, and flushed before it is opened: no thread sees it half done. But nothing that recovery has read by then shows that
 * it was flushed, so a compiler may have split it. The atomic one is whole whenever the power fails. */
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static struct two {
  _Alignas(64) long torn;
  _Alignas(64) atomic_long whole;
} *two;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused) {
  pthread_mutex_lock(&mutex);
  two->torn = 1; //~ torn
  lf_persist(&two->torn, sizeof two->torn);
  pthread_mutex_unlock(&mutex);
  return unused;
}

int main(void) {
  two = lf_pm(sizeof *two);
  if (lf_failures())
    return two->torn == 77 || two->whole == 77;
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  pthread_mutex_lock(&mutex);
  atomic_store_explicit(&two->whole, 1, memory_order_release);
  lf_persist(&two->whole, sizeof two->whole);
  pthread_mutex_unlock(&mutex);
  pthread_join(thread, NULL);
  return 0;
}
