// Who is woken must look again: another one may have come first.
// check:
// exit: 0
// check: -DIF --spurious 0
// exit: 100
// finds: assertion `inside == 1` is false
#include <assert.h>
#include <pthread.h>
#ifdef IF
#define WHILE if
#else
#define WHILE while
#endif
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int taken, inside;
static void enter(void) {
  pthread_mutex_lock(&mutex);
  WHILE(taken)
  pthread_cond_wait(&changed, &mutex);
  taken = 1;
  inside++;
  assert(inside == 1);
  pthread_mutex_unlock(&mutex);
}
static void leave(void) {
  pthread_mutex_lock(&mutex);
  inside--;
  taken = 0;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&mutex);
}
static void *visit(void *unused) {
  enter();
  leave();
  return unused;
}
int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; i++)
    pthread_create(&threads[i], 0, visit, 0);
  for (int i = 0; i < 3; i++)
    pthread_join(threads[i], 0);
  return 0;
}
