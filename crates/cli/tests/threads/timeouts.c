// Waits again and again: how often that takes too long has no bound, so that landfall sets one, and says so.
// check:
// exit: 5
// note: timeouts
// check: -DGIVES_UP
// exit: 0
// check: -DHASTY
// exit: 100
// finds: assertion ready
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *wait(void *unused) {
  pthread_mutex_lock(&mutex);
  for (int tries = 0; !ready; tries++) {
#ifdef GIVES_UP
    if (tries == 3)
      break;
#endif
#ifdef HASTY
    assert(tries < 2 || ready);
#endif
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_sec++;
    if (pthread_cond_timedwait(&changed, &mutex, &soon) == ETIMEDOUT) {
      struct timespec now;
      clock_gettime(CLOCK_REALTIME, &now);
      assert(now.tv_sec >= soon.tv_sec);
    }
  }
  pthread_mutex_unlock(&mutex);
  return unused;
}

int main(void) {
  pthread_t waiter;
  pthread_create(&waiter, NULL, wait, NULL);
  pthread_mutex_lock(&mutex);
  ready = 1;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&mutex);
  pthread_join(waiter, NULL);
}
