/* One of many threads has stored the first of two words, but not the second, when the last thread looks. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum { OTHERS = 6 };
static _Atomic int first, second, work;

static void *sets(void *u) {
  first = 1;
  second = -1;
  return u;
}

static void *works(void *u) {
  for (int i = 0; i < 5; i++)
    work++;
  return u;
}

static void *looks(void *u) {
  int x = first, y = second;
  assert(!(x == 1 && y == 0));
  return u;
}

int main(void) {
  pthread_t threads[OTHERS + 2];
  for (int i = 0; i < OTHERS; i++)
    pthread_create(&threads[i], NULL, works, NULL);
  pthread_create(&threads[OTHERS], NULL, sets, NULL);
  pthread_create(&threads[OTHERS + 1], NULL, looks, NULL);
  for (int i = 0; i < OTHERS + 2; i++)
    pthread_join(threads[i], NULL);
}
