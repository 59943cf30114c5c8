/* BROKEN: one thread takes the locks in one order, the other in the other order.
 *
 * Each can have its first lock and wait for its second for ever. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t from = PTHREAD_MUTEX_INITIALIZER, to = PTHREAD_MUTEX_INITIALIZER;
static int balance[2] = {10, 10};

static void *back(void *unused) {
  pthread_mutex_lock(&to);
  pthread_mutex_lock(&from);
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
