/* A signal finds two waiters, two more come to the queue, a second signal finds all of them: at most one of the newcomers goes on.
 *
 * -DNONE claims that none does. */
#include <assert.h>
#include <pthread.h>

#ifdef NONE
#define MOST 0
#else
#define MOST 1
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int waiting, back;

static void *early(void *unused) {
  pthread_mutex_lock(&lock);
  waiting++;
  pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  return unused;
}

static void *late(void *unused) {
  pthread_mutex_lock(&lock);
  waiting++;
  pthread_cond_wait(&changed, &lock);
  back++;
  assert(back <= MOST);
  pthread_mutex_unlock(&lock);
  return unused;
}

int main(void) {
  pthread_t threads[4];
  pthread_create(threads, 0, early, 0);
  pthread_create(threads + 1, 0, early, 0);
  pthread_mutex_lock(&lock);
  int both = waiting == 2;
  if (both)
    pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  if (!both)
    return 0;
  pthread_create(threads + 2, 0, late, 0);
  pthread_create(threads + 3, 0, late, 0);
  pthread_mutex_lock(&lock);
  if (waiting == 4)
    pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  return 0;
}
