/* Three threads meet twice. Before the second time each sees what all did before the first; one of them is the serial one. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_barrier_t barrier;
static int done[3];
static atomic_int serial;

static void *work(void *number) {
  long me = (long)number;
  done[me] = 1;
  if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) atomic_fetch_add(&serial, 1);
#ifndef ALONE
  assert(done[0] && done[1] && done[2]);
#else
  assert(me != 1 || !atomic_load(&serial));
#endif
  pthread_barrier_wait(&barrier);
  assert(atomic_load(&serial) == 1);
  return NULL;
}

int main(void) {
  pthread_t other[2];
  pthread_barrier_init(&barrier, NULL, PARTIES);
  pthread_create(&other[0], NULL, work, (void *)1);
  pthread_create(&other[1], NULL, work, (void *)2);
  work((void *)0);
  pthread_join(other[0], NULL);
  pthread_join(other[1], NULL);
  return 0;
}
