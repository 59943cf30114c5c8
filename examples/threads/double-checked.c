/* Made by whoever needs it first; the flag goes up last. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int ready;
static atomic_int table;

static void *use(void *unused) {
  if (!atomic_load_explicit(&ready, memory_order_acquire)) {
    pthread_mutex_lock(&mutex);
    if (!atomic_load_explicit(&ready, memory_order_relaxed)) {
      atomic_store_explicit(&table, 42, memory_order_relaxed);
      atomic_store_explicit(&ready, 1, memory_order_release);
    }
    pthread_mutex_unlock(&mutex);
  }
  assert(atomic_load_explicit(&table, memory_order_relaxed) == 42);  //~ fails
  return unused;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, use, NULL);
  use(NULL);
  pthread_join(other, NULL);
  return 0;
}
