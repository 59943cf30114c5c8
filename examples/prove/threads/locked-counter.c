/* Two threads add to a counter under a lock and write it back before they let go; without the lock (-DUNLOCKED) one addition is lost. */
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdint.h>

struct memory {
  _Alignas(64) uint64_t counter;
  _Alignas(64) uint64_t done;
};

static struct memory *memory;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *adds(void *argument) {
#ifndef UNLOCKED
  pthread_mutex_lock(&lock);
#endif
  memory->counter = memory->counter + 1;
  lf_persist(&memory->counter, sizeof memory->counter);
#ifndef UNLOCKED
  pthread_mutex_unlock(&lock);
#endif
  return argument;
}

int main(void) {
  memory = lf_pm(sizeof *memory);
  (void)lock;
  if (lf_failures() > 0) {
    assert(!memory->done || memory->counter == 2);
    return 0;
  }
  pthread_t one, two;
  pthread_create(&one, NULL, adds, NULL);
  pthread_create(&two, NULL, adds, NULL);
  pthread_join(one, NULL);
  pthread_join(two, NULL);
  memory->done = 1;
  return 0;
}
