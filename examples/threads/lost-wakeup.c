/* BROKEN: the flag is looked at without the mutex, and the signal can come between the look and the wait.
 *
 * Missing: the test of `ready` belongs under the mutex, in a loop around the wait. A signal that nobody waits for is lost. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static atomic_int ready;

static void *announce(void *unused) {
  ready = 1;
  pthread_cond_signal(&changed);
  return unused;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, announce, NULL);
  if (!ready) {
    pthread_mutex_lock(&mutex);
    pthread_cond_wait(&changed, &mutex);  //~ waits
    pthread_mutex_unlock(&mutex);
  }
  pthread_join(other, NULL);
  return 0;
}
