// With malloc in persistent memory each thread has a part of it: who asked first is nothing that anybody could tell, and nobody waits.
// check: --pm-heap --checks crash -DN=2
// schedules: 1
// check: --pm-heap --checks crash -DN=3
// schedules: 1
// check: --pm-heap --checks crash -DN=2 -DLARGE
// schedules: 2
// check: --pm-heap --checks crash -DN=2 -DOTHERS
// schedules: 1
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#define BLOCKS 5
static uint64_t *given;
static void *asks(void *of) {
  uint64_t *blocks[BLOCKS], mine = (uint64_t)of;
#ifdef LARGE
  // More than there is of its own comes from what all share.
  assert(malloc(200 << 20));
#endif
#ifdef OTHERS
  // What another one asked for is its own from then on.
  if (mine == 1) free(given);
#endif
  for (int i = 0; i < BLOCKS; i++) {
    blocks[i] = malloc(40);
    *blocks[i] = mine;
    lf_persist(blocks[i], 8);
  }
  for (int i = 0; i < BLOCKS; i++) {
    assert(*blocks[i] == mine);
    free(blocks[i]);
  }
#ifdef OTHERS
  if (mine == 1) assert(malloc(40) == blocks[BLOCKS - 1]);
#endif
  return 0;
}
int main(void) {
  if (lf_failures()) return 0;
  given = malloc(40);
  pthread_t thread[N];
  for (long i = 0; i < N; i++) pthread_create(&thread[i], 0, asks, (void *)(i + 1));
  for (long i = 0; i < N; i++) pthread_join(thread[i], 0);
  return 0;
}
