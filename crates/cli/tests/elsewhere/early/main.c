/* Blocks of sizes that a library gave back before: nobody else's memory changes. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
extern void *kept;
static int n;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *_) { pthread_mutex_lock(&lock); n++; pthread_mutex_unlock(&lock); return _; }
int main(void) {
  for (int i = 0; i < 8; i++) {
    char *block = malloc(24 * (i + 1) - 16);
    memset(block, 'm', 24 * (i + 1) - 16);
  }
  for (int i = 0; i < 100; i++) assert(((char *)kept)[i] == 'k');
  pthread_t t;
  pthread_create(&t, 0, work, 0);
  work(0);
  pthread_join(t, 0);
  assert(n == 2);
  return 0;
}
