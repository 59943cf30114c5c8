// The heap is looked at, and the first block is taken while a store to persistent memory still waits in the store buffer: runs in place and runs in forks are told alike. It was called not
// deterministic.
// check: --checks heap
// exit: 0
// check: --checks heap --model sc
// exit: 0
// check: --checks heap --preempt everywhere
// exit: 0
// check: --checks heap,crash -DAFTER=1
// exit: 100
// finds: use-after-free reads 8 bytes
// check: -DRACES=1
// exit: 100
// finds: data-race `*m`
#include <landfall.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#ifndef AFTER
#define AFTER 0
#endif

static uint64_t *m, seen;

static void *thread(void *block) {
  seen = __atomic_load_n(m, __ATOMIC_SEQ_CST);
#if AFTER
  free(block);
#endif
  (void)block;
  return 0;
}

int main(void) {
  m = lf_pm(64);
  if (lf_failures()) return 0;
  __atomic_store_n((uint8_t *)m + 5, 0, __ATOMIC_RELAXED);
  uint64_t *block = malloc(16);
  *block = 5;
  pthread_t t;
  pthread_create(&t, 0, thread, block);
  lf_persist(m + 5, 1);
#ifdef RACES
  *m = 1;
#else
  __atomic_store_n(m, 1, __ATOMIC_RELAXED);
#endif
  pthread_join(t, 0);
  return AFTER ? (int)*block : 0;
}
