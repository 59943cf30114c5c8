// Threads that main creates and joins.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
static int N;
static int program(void);
int main(int count, char **arguments) {
  N = atoi(arguments[1]);
  return program();
}
#define load(x) atomic_load_explicit(&(x), memory_order_acquire)
#define store(x, v) atomic_store_explicit(&(x), v, memory_order_release)
static inline int cas(atomic_int *x, int expected, int desired) {
  return atomic_compare_exchange_strong(x, &expected, desired);
}
static void run(int n, void *(*of(int i))(void *)) {
  pthread_t threads[n];
  for (int i = 0; i < n; i++)
    pthread_create(&threads[i], 0, of(i), (void *)(intptr_t)i);
  for (int i = 0; i < n; i++)
    pthread_join(threads[i], 0);
}
