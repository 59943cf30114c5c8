/* A queue of one item between threads; who was woken looks again. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int item, count;  /* room for one */

static void put(int value) {
  pthread_mutex_lock(&mutex);
  item = value;
  count++;
  pthread_cond_signal(&filled);
  pthread_mutex_unlock(&mutex);
}

static int take(void) {
  pthread_mutex_lock(&mutex);
  while (count == 0)
    pthread_cond_wait(&filled, &mutex);
  assert(count > 0);  //~ fails
  int value = item;
  count--;
  pthread_mutex_unlock(&mutex);
  return value;
}

static void *consume(void *unused) {
  take();
  put(2);
  return unused;
}

int main(void) {
  pthread_t first, second;
  pthread_create(&first, NULL, consume, NULL);
  pthread_create(&second, NULL, consume, NULL);
  put(1);
  pthread_join(first, NULL);
  pthread_join(second, NULL);
  assert(count == 1);
  return 0;
}
