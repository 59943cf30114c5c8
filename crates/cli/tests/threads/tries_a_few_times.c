// A loop that gives up by itself is not one that waits.
// check: --checks crash
// exit: 0
#include <pthread.h>
#include <stdatomic.h>
atomic_int flag;
static void *look(void *_) {
  int tries = 0;
  while (!atomic_load(&flag) && ++tries < 4)
    ;
  return 0;
}
int main() {
  pthread_t p;
  pthread_create(&p, 0, look, 0);
  pthread_join(p, 0);
  return 0;
}
