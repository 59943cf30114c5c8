// What a thread library does inside of a lock completes no write-back that anybody may count on (docs/the-model.md).
// check: --checks crash -mclwb
// exit: 100
// finds: assertion `r->data == 1` is false
// check: --checks crash -mclwb -DFENCE
// exit: 0
// check: --checks crash -mclwb -DSPIN
// exit: 100
// finds: assertion `r->data == 1` is false
// check: --checks crash -mclwb -DSEMAPHORE
// exit: 100
// finds: assertion `r->data == 1` is false
// check: --checks crash -mclwb -DSEMAPHORE -DFENCE
// exit: 0
// check: --checks crash -mclwb -DOWN
// exit: 0
#include <assert.h>
#include <immintrin.h>
#include <landfall.h>
#include <pthread.h>
#include <semaphore.h>
struct record {
  _Alignas(64) long data;
  _Alignas(64) long valid;
};
static struct record *r;
static long own;
#ifdef SPIN
static pthread_spinlock_t lock;
#define TAKE pthread_spin_lock(&lock)
#define GIVE pthread_spin_unlock(&lock)
#elif defined SEMAPHORE
static sem_t lock;
#define TAKE sem_wait(&lock)
#define GIVE sem_post(&lock)
#else
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#define TAKE pthread_mutex_lock(&lock)
#define GIVE pthread_mutex_unlock(&lock)
#endif
static void *announce(void *argument) {
  TAKE;
  if (r->data) {
    __atomic_store_n(&r->valid, 1, __ATOMIC_RELEASE);
    _mm_clwb(&r->valid);
    _mm_sfence();
  }
  GIVE;
  return argument;
}
int main(void) {
  r = lf_pm(sizeof *r);
  if (lf_failures()) {
    if (r->valid)
      assert(r->data == 1);
    return 0;
  }
#ifdef SPIN
  pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
#elif defined SEMAPHORE
  sem_init(&lock, 0, 1);
#endif
  pthread_t other;
  pthread_create(&other, 0, announce, 0);
  TAKE;
  r->data = 1;
  _mm_clwb(&r->data);
#ifdef FENCE
  _mm_sfence();
#elif defined OWN
  __atomic_fetch_add(&own, 1, __ATOMIC_SEQ_CST); /* the program's own locked instruction is one */
#endif
  GIVE;
  pthread_join(other, 0);
  return 0;
}
