// Handlers that run at the end race with threads that are still there; in which order several threads register them is not tried.
// check: -DRACES
// exit: 100
// finds: data-race on `shared`
// check: -DTWO
// exit: 5
// limit: unseen
// note: `atexit`
// check: -DONE
// exit: 0
// check: -DLATE
// exit: 5
// limit: unseen
#include <pthread.h>
#include <stdlib.h>
static int shared;
static void first(void) { shared = 2 * shared; }
static void second(void) { shared = shared + 1; }
static void *writes(void *unused) {
#ifdef RACES
  shared = 1;
#endif
  return unused;
}
static void *registers(void *unused) {
  atexit(second);
  return unused;
}
int main(void) {
  pthread_t a, b;
#if defined RACES || defined ONE
  atexit(first);
#endif
#ifdef TWO
  pthread_create(&a, 0, registers, 0);
  atexit(first);
  pthread_join(a, 0);
#elif defined LATE
  (void)b, (void)first, (void)writes;
  pthread_create(&a, 0, registers, 0);
  exit(0);
#else
  pthread_create(&a, 0, writes, 0);
#endif
#ifdef ONE
  pthread_create(&b, 0, registers, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
#endif
  return 0;
}
