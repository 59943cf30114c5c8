// What programs with threads share.
#include <landfall.h>
#include <pthread.h>

// Wait, or with -DASSUME: only what happens where there is nothing to wait for.
#ifdef ASSUME
#define WAIT(condition) lf_assume(condition)
#else
#define WAIT(condition)                                                                                                \
  while (!(condition))                                                                                                 \
  ;
#endif

// So many threads that do the same, from creation to end. Each gets what is so many bytes behind what the one before got.
static inline void run_threads(int count, void *(*work)(void *), void *first, long distance) {
  pthread_t threads[32];
  for (int i = 0; i < count; i++)
    pthread_create(&threads[i], 0, work, (char *)first + i * distance);
  for (int i = 0; i < count; i++)
    pthread_join(threads[i], 0);
}

static inline void run_both(void *(*one)(void *), void *(*other)(void *)) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, other, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
}
