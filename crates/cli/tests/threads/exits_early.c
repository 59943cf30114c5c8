// What a thread does before main returns counts, whoever is faster.
// check: --checks crash
// exit: 100
// finds: segfault
#include <pthread.h>
static void *crash(void *_) { *(volatile int *)8 = 1; return 0; }
int main() {
  pthread_t p;
  pthread_create(&p, 0, crash, 0);
  return 0;
}
