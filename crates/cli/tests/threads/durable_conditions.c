// A mutex in persistent memory, held by others when the power fails.
// check: --checks crash
// exit: 0
// check: -DSIGNAL --checks crash
// exit: 100
// finds: deadlock
// check: -DTIMED --checks crash
// exit: 0
// check: -DBLIND --checks crash
// exit: 100
// finds: assertion memory->ready
// check: -DBLIND --checks crash --model sc
// exit: 100
// finds: assertion memory->ready
/* Two threads wait under a mutex in persistent memory until a record is ready.
 *
 * -DSIGNAL wakes one of them only; -DTIMED gives up waiting at some time and must look again; -DBLIND does not. */
#include <assert.h>
#include <emmintrin.h>
#include <landfall.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

struct memory {
  pthread_mutex_t mutex;
  _Alignas(64) uint64_t ready;
  _Alignas(64) uint64_t seen[2];
};

static struct memory *memory;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *look(void *number) {
  uint64_t *seen = &memory->seen[number != NULL];
  pthread_mutex_lock(&memory->mutex);
#if defined TIMED || defined BLIND
  struct timespec soon = {0, 0};
  if (!memory->ready)
    pthread_cond_timedwait(&changed, &memory->mutex, &soon);
#else
  while (!memory->ready)
    pthread_cond_wait(&changed, &memory->mutex);
#endif
#ifdef TIMED
  if (memory->ready)
#endif
    *seen = 1;
  pthread_mutex_unlock(&memory->mutex);
  return NULL;
}

int main(void) {
  memory = lf_pm(sizeof *memory);
  if (lf_failures() > 0) {
    assert(!(memory->seen[0] || memory->seen[1]) || memory->ready);
    return 0;
  }
  pthread_mutex_init(&memory->mutex, NULL);
  pthread_t first, second;
  pthread_create(&first, NULL, look, NULL);
  pthread_create(&second, NULL, look, &second);
  pthread_mutex_lock(&memory->mutex);
  memory->ready = 1;
  _mm_clflush(&memory->ready);
#ifdef SIGNAL
  pthread_cond_signal(&changed);
#else
  pthread_cond_broadcast(&changed);
#endif
  pthread_mutex_unlock(&memory->mutex);
  pthread_join(first, NULL);
  pthread_join(second, NULL);
  return 0;
}
