/* Two threads hand a record over by a semaphore: who took it finds it whole, and so does recovery behind the flag.
 *
 * -DEARLY gives before the record is flushed; -DNEVER forgets to give: the other waits for ever. */
#include <assert.h>
#include <emmintrin.h>
#include <landfall.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

struct memory {
  _Alignas(64) uint64_t record;
  _Alignas(64) uint64_t taken;
};

static struct memory *memory;
static sem_t full;

static void *give(void *unused) {
  memory->record = 7;
#ifndef EARLY
  _mm_clflush(&memory->record);
#endif
#ifndef NEVER
  sem_post(&full);
#endif
  return unused;
}

int main(void) {
  memory = lf_pm(sizeof *memory);
  if (lf_failures() > 0) {
    assert(!memory->taken || memory->record == 7);
    return 0;
  }
  sem_init(&full, 0, 0);
  pthread_t giver;
  pthread_create(&giver, NULL, give, NULL);
  sem_wait(&full);
  assert(memory->record == 7);
  memory->taken = 1;
  pthread_join(giver, NULL);
  return 0;
}
