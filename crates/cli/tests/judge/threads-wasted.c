// expect: redundant-flush at again
// expect: redundant-fence at nothing
/* The other thread's flush does nothing if it comes first, and is needed if it comes right after the store. */
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static struct one {
  _Alignas(64) atomic_int x;
} *one;

static void *work(void *unused) {
  lf_flush(&one->x, sizeof one->x);
  lf_fence();
  return unused;
}

int main(void) {
  one = lf_pm(sizeof *one);
  if (lf_failures())
    return one->x == 77;
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  atomic_store_explicit(&one->x, 1, memory_order_release);
  lf_flush(&one->x, sizeof one->x);
  lf_flush(&one->x, sizeof one->x); //~ again
  lf_fence();
  lf_fence(); //~ nothing
  pthread_join(thread, NULL);
  return 0;
}
