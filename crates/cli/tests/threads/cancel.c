// check:
// exit: 2
// says: pthread_cancel
#include <pthread.h>
#include <stddef.h>

static void *wait(void *unused) {
  for (;;)
    pthread_testcancel();
  return unused;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, wait, NULL);
  pthread_cancel(other);
  pthread_join(other, NULL);
}
