// check: --time 60s
/* The first signal finds one waiter, so it wakes that one: who comes to the queue later cannot go on in its stead, though the second signal
 * may reach all three. Called a deadlock once. */
#include <landfall.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int first, second, waiting;

static void *await(void *what) {
  pthread_mutex_lock(&lock);
  waiting++;
  while (!*(int *)what)
    pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  return 0;
}

int main(void) {
  pthread_t threads[3];
  pthread_create(threads, 0, await, &first);
  pthread_mutex_lock(&lock);
  lf_assume(waiting == 1);
  first = 1;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  pthread_create(threads + 1, 0, await, &second);
  pthread_create(threads + 2, 0, await, &second);
  pthread_mutex_lock(&lock);
  lf_assume(waiting == 3);
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  pthread_join(threads[0], 0);
  pthread_mutex_lock(&lock);
  second = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  pthread_join(threads[1], 0);
  pthread_join(threads[2], 0);
  pthread_cond_destroy(&changed);
}
