/* Two accounts, a lock each, always taken in the same order. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t from = PTHREAD_MUTEX_INITIALIZER, to = PTHREAD_MUTEX_INITIALIZER;
static int balance[2] = {10, 10};

static void *back(void *unused) {
  pthread_mutex_lock(&from);
  pthread_mutex_lock(&to);
  balance[1]--;
  balance[0]++;
  pthread_mutex_unlock(&from);
  pthread_mutex_unlock(&to);
  return unused;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, back, NULL);
  pthread_mutex_lock(&from);
  pthread_mutex_lock(&to);  //~ waits
  balance[0]--;
  balance[1]++;
  pthread_mutex_unlock(&to);
  pthread_mutex_unlock(&from);
  pthread_join(other, NULL);
  return balance[0] + balance[1] == 20 ? 0 : 1;
}
