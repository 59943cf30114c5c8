// A thread runs on the stack that it was given, to its very end: whoever takes it away before is told so.
// check: --checks crash
// check:
// check: -DEARLY
// exit: 100
// finds: use-after-free takes away the stack of thread 1
// check: -DTOLD
// exit: 100
// finds: use-after-free takes away the stack of thread 1
// check: -DTWICE
// exit: 100
// finds: use-after-free takes away the stack of thread 1
// check: -DTWICE -DJOINED
// check: -DMAPPED
// check: -DMAPPED -DTOLD
// exit: 100
// finds: use-after-free takes away the stack of thread 1
// check: --checks crash -DSIZE_ONLY
// exit: 0
// check: --checks crash -DLARGE
// exit: 0
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
static char *stack;
static atomic_int told;
static void give_up(void) {
#ifdef MAPPED
  munmap(stack, 65536);
#else
  free(stack);
#endif
}
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
  told = 1;
  return (void *)(long)local[0];
}
int main(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
#if defined SIZE_ONLY
  pthread_attr_setstacksize(&attributes, 1 << 20);
#elif !defined LARGE
#ifdef MAPPED
  stack = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#else
  stack = aligned_alloc(4096, 65536);
#endif
  pthread_attr_setstack(&attributes, stack, 65536);
#endif
  pthread_t thread;
  pthread_create(&thread, &attributes, work, 0);
  void *answer;
#if defined EARLY
  give_up();
#elif defined TOLD
  if (told)
    give_up();
#endif
#if defined TWICE && !defined JOINED
  pthread_t other;
  pthread_create(&other, &attributes, work, 0);
#endif
  pthread_join(thread, &answer);
#if defined TWICE && defined JOINED
  pthread_t other;
  pthread_create(&other, &attributes, work, 0);
#endif
#ifdef TWICE
  pthread_join(other, &answer);
#endif
#if !defined EARLY && !defined TOLD
  give_up();
#endif
  return answer != (void *)1;
}
