// A thread runs on the stack that it was given; what others do to it meanwhile is not looked at.
// check: --checks crash
// exit: 5
// limit: unseen
// note: `pthread_create` with a stack of the program's own
// check: --checks crash -DSIZE_ONLY
// exit: 0
// check: --checks crash -DLARGE
// exit: 0
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static char *stack;
static void *work(void *unused) {
  volatile char local[4096];
  local[0] = 1;
#ifdef LARGE
  // As much as any thread has by default.
  volatile char large[6 << 20];
  for (unsigned long i = 0; i < sizeof large; i += 4096) large[sizeof large - 1 - i] = 1;
#elif !defined SIZE_ONLY
  assert((char *)local >= stack && (char *)local < stack + 65536);
#endif
  return (void *)(long)local[0];
}
int main(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
#if defined SIZE_ONLY
  pthread_attr_setstacksize(&attributes, 1 << 20);
#elif !defined LARGE
  stack = aligned_alloc(4096, 65536);
  pthread_attr_setstack(&attributes, stack, 65536);
#endif
  pthread_t thread;
  pthread_create(&thread, &attributes, work, 0);
  void *answer;
  pthread_join(thread, &answer);
  free(stack);
  return answer != (void *)1;
}
