// check: --time 60s
/* The first signal finds two waiters, so one of them goes on, though two more come to the queue before the second signal. Called a deadlock once:
 * both newcomers went on, and nobody of the first two. */
#include <landfall.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_cond_t came_back = PTHREAD_COND_INITIALIZER;
static int waiting, early_back, over;

static void *early(void *unused) {
  pthread_mutex_lock(&lock);
  waiting++;
  pthread_cond_wait(&changed, &lock);
  early_back = 1;
  pthread_cond_signal(&came_back);
  pthread_mutex_unlock(&lock);
  return unused;
}

static void *late(void *unused) {
  pthread_mutex_lock(&lock);
  waiting++;
  if (!over)
    pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  return unused;
}

int main(void) {
  pthread_t threads[4];
  pthread_create(threads, 0, early, 0);
  pthread_create(threads + 1, 0, early, 0);
  pthread_mutex_lock(&lock);
  lf_assume(waiting == 2);
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  pthread_create(threads + 2, 0, late, 0);
  pthread_create(threads + 3, 0, late, 0);
  pthread_mutex_lock(&lock);
  lf_assume(waiting == 4);
  pthread_cond_signal(&changed);
  while (!early_back)
    pthread_cond_wait(&came_back, &lock);
  over = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], 0);
  pthread_cond_destroy(&changed);
  pthread_cond_destroy(&came_back);
}
