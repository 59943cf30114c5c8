// Copies with non-temporal stores, each thread to lines of its own: who else could tell in which order they reach memory? As long as nobody
// else touches a line, it has no stream.
// check: --checks crash
// exit: 0
// schedules: 1
// check: --checks crash -DPMEM
// exit: 0
// schedules: 1
// check: --checks crash -DLOOKS
// exit: 100
// finds: assertion
// check: --checks crash -DLOOKS -DFENCED
// exit: 0
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <immintrin.h>

enum { PAGE = 4096, THREADS = 3 };
static char *memory;
static atomic_int ready;

#ifdef PMEM
void *pmem_memcpy(void *to, const void *from, size_t length, unsigned flags);
enum { NON_TEMPORAL = 2 };
static void copy(char *to, char from) {
  char bytes[PAGE];
  for (int at = 0; at < PAGE; at++)
    bytes[at] = from;
  pmem_memcpy(to, bytes, PAGE, NON_TEMPORAL);
}
#else
static void copy(char *to, char from) {
  __m128i bytes = _mm_set1_epi8(from);
  for (int at = 0; at < PAGE; at += 16)
    _mm_stream_si128((__m128i *)(to + at), bytes);
}
#endif

static void *works(void *own) {
  long me = (long)own;
  copy(memory + me * PAGE, 1 + (char)me);
#if !defined(LOOKS) || defined(FENCED)
  _mm_sfence();
#endif
#ifdef LOOKS
  if (me == 0)
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
#endif
  return 0;
}

#ifdef LOOKS
/* At one line of the first one's. */
static void *looks(void *unused) {
  if (atomic_load(&ready))
    assert(*(volatile char *)(memory + 5 * 64) == 1);
  return unused;
}
#endif

int main(void) {
  if (lf_failures())
    return 0;
  memory = lf_pm(THREADS * PAGE);
  pthread_t threads[THREADS];
  for (long i = 0; i < THREADS; i++)
#ifdef LOOKS
    pthread_create(&threads[i], 0, i == 1 ? looks : works, (void *)i);
#else
    pthread_create(&threads[i], 0, works, (void *)i);
#endif
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], 0);
#ifndef LOOKS
  for (int i = 0; i < THREADS * PAGE; i += 64)
    assert(memory[i] == 1 + i / PAGE);
#endif
}
