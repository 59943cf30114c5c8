// A failure at the end of a long schedule: what is done to make it plain must not grow with the square of its steps, let alone the cube.
// check: --checks crash -DN=20000
// exit: 100
// finds: assertion
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int first, second;
static void *work(void *mine) {
  for (int i = 0; i < N; i++) atomic_fetch_add((atomic_int *)mine, 1);
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, work, &first);
  pthread_create(&b, 0, work, &second);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(first + second == 0);
  return 0;
}
