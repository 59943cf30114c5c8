// A writer becomes a reader: no other writer may come in between, and readers that wait may come in.
// check:
// exit: 0
// check: -DLETS_GO
// exit: 100
// finds: assertion `value == mine` is false
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int readers, writing;
static int value;
static void read_lock(void) {
  pthread_mutex_lock(&mutex);
  while (writing)
    pthread_cond_wait(&changed, &mutex);
  readers++;
  pthread_mutex_unlock(&mutex);
}
static void write_lock(void) {
  pthread_mutex_lock(&mutex);
  while (writing || readers)
    pthread_cond_wait(&changed, &mutex);
  writing = 1;
  pthread_mutex_unlock(&mutex);
}
static void unlock(void) {
  pthread_mutex_lock(&mutex);
  if (writing)
    writing = 0;
  else
    readers--;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}
static void downgrade(void) {
#ifdef LETS_GO
  unlock();
  read_lock();
#else
  pthread_mutex_lock(&mutex);
  writing = 0;
  readers++;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
#endif
}
static void *writes(void *number) {
  int mine = *(int *)number;
  write_lock();
  value = mine;
  downgrade();
  assert(value == mine);
  unlock();
  return 0;
}
int main(void) {
  pthread_t other;
  int one = 1, two = 2;
  pthread_create(&other, 0, writes, &one);
  writes(&two);
  pthread_join(other, 0);
  return 0;
}
