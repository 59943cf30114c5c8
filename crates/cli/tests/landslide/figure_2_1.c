// Two threads count, and nothing keeps them apart: any number from 2 to 4.
// check: --checks crash -DAT_LEAST=2
// exit: 0
// check: --checks crash -DAT_LEAST=3
// exit: 100
// finds: assertion
#include <assert.h>
#include <pthread.h>
enum { ROUNDS = 2 };
static int x;
static void *count(void *unused) {
  for (int i = 0; i < ROUNDS; i++)
    x++;
  return unused;
}
int main(void) {
  pthread_t first, second;
  pthread_create(&first, 0, count, 0);
  pthread_create(&second, 0, count, 0);
  pthread_join(first, 0);
  pthread_join(second, 0);
  assert(x >= AT_LEAST && x <= 2 * ROUNDS);
  return 0;
}
