/* A write-back that came too early: the line is written back and fenced before the other thread stores to it, so what the flag
 * promises may be lost.
 *
 * -DREPAIRED writes it back after the thread has ended. */
#include <assert.h>
#include <immintrin.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>

struct memory {
  _Alignas(64) _Atomic long record;
  _Alignas(64) _Atomic long flag;
};

static struct memory *memory;

static void *store(void *unused) {
  atomic_store_explicit(&memory->record, 1, memory_order_release);
  return unused;
}

int main(void) {
  memory = lf_pm(sizeof *memory);
  if (lf_failures() > 0) {
    assert(!memory->flag || memory->record);
    return 0;
  }
  pthread_t other;
  pthread_create(&other, NULL, store, NULL);
#ifndef REPAIRED
  lf_flush((void *)&memory->record, sizeof memory->record);
  lf_fence();
#endif
  pthread_join(other, NULL);
#ifdef REPAIRED
  lf_flush((void *)&memory->record, sizeof memory->record);
  lf_fence();
#endif
  atomic_store_explicit(&memory->flag, 1, memory_order_release);
  return 0;
}
