// Two threads that take as many steps as they are told.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static int N;
_Alignas(64) static atomic_int mine[2][16];
static void *steps(void *which) {
  for (int i = 0; i < N; i++)
    atomic_fetch_add((atomic_int *)which, 1);
  return 0;
}
int main(int count, char **arguments) {
  N = atoi(arguments[1]);
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], 0, steps, mine[i]);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], 0);
  return 0;
}
