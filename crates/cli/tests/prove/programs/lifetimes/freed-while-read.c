/* A reader follows a pointer that its owner takes away and frees. Right if the owner waits for the reader. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(int *) shared;

static void *reader(void *unused) {
  int *found = atomic_load(&shared);
  if (found) assert(*found == 7);
  return unused;
}

int main(void) {
  int *block = malloc(sizeof *block);
  *block = 7;
  atomic_store(&shared, block);
  pthread_t other;
  pthread_create(&other, NULL, reader, NULL);
  atomic_store(&shared, NULL);
#ifdef WAIT
  pthread_join(other, NULL);
  free(block);
#else
  free(block);
  pthread_join(other, NULL);
#endif
  return 0;
}
