/* Two fields under a reader-writer lock of the thread library: a reader finds them alike.
 *
 * -DSHARED has the writer take the lock as readers do; -DTRIES goes on where it did not get the lock. */
#include <assert.h>
#include <emmintrin.h>
#include <landfall.h>
#include <pthread.h>
#include <stdint.h>

struct memory {
  _Alignas(64) uint64_t a;
  uint64_t b; /* on the same line: never newer */
};

static struct memory *memory;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *write_both(void *unused) {
#if defined SHARED
  pthread_rwlock_rdlock(&lock);
#elif defined TRIES
  (void)!pthread_rwlock_trywrlock(&lock);
#else
  pthread_rwlock_wrlock(&lock);
#endif
  memory->a = 1;
  memory->b = 1;
  _mm_clflush(memory);
  pthread_rwlock_unlock(&lock);
  return unused;
}

int main(void) {
  memory = lf_pm(sizeof *memory);
  if (lf_failures() > 0) {
    assert(memory->b <= memory->a);
    return 0;
  }
  pthread_t writer;
  pthread_create(&writer, NULL, write_both, NULL);
  pthread_rwlock_rdlock(&lock);
  uint64_t a = memory->a, b = memory->b;
  assert(a == b);
  pthread_rwlock_unlock(&lock);
  pthread_join(writer, NULL);
  return 0;
}
