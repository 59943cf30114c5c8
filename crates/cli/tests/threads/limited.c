// What one thread writes before it says so under a lock, another reads after it has heard of it. That is no data race; to those who
// look at locks held by both alone it is one.
// check:
// exit: 0
// check: --races limited
// exit: 100
// finds: data-race `data`
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int data, said;
static void *speaks(void *unused) {
  data = 1;
  pthread_mutex_lock(&m);
  said = 1;
  pthread_mutex_unlock(&m);
  return unused;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, speaks, 0);
  pthread_mutex_lock(&m);
  int heard = said;
  pthread_mutex_unlock(&m);
  if (heard)
    data = 2;
  pthread_join(t, 0);
  return 0;
}
