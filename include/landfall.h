/* Landfall: persistent memory for programs under test.
 *
 * Compiled with `landfall cc` or `landfall c++`, these functions come from Landfall's runtime. Compiled with anything else
 * the same program runs on its own: on anonymous memory, with the processor's real flushes and fences. */
#ifndef LANDFALL_H
#define LANDFALL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __LANDFALL__

/* In front of a function's definition. Trusted: what it accesses, and what it calls, is no step of a schedule and part of no data race; the
 * summary lists it. Sealed: threads are not preempted in it. */
#define lf_trusted __attribute__((annotate("landfall.trusted"), noinline))
#define lf_sealed __attribute__((annotate("landfall.sealed"), noinline))

/* The program's persistent region: zeroed at first, at the same address in every run. */
void *lf_pm(size_t bytes);
/* Power failures so far: 0 in the first execution. */
int lf_failures(void);
/* Write back the lines of n bytes at p; wait for write-backs; both. */
void lf_flush(const void *p, size_t n);
void lf_fence(void);
void lf_persist(const void *p, size_t n);
/* The persistent heap, and pointers that survive a power failure. */
void *lf_alloc(size_t n);
void lf_free(void *p);
void **lf_root(unsigned i);
/* Reads in between are a record that the program checks against a checksum. It is taken to be accepted only as memory held it at some
 * moment, and what is done after it was rejected not to depend on it (check --no-checksum-assumption tries every mixture of lines). */
void lf_checksum_begin(void);
void lf_checksum_end(int accepted);
/* What the thread does in between is not judged: its reads, its part in data races, its accesses of blocks that are marked as given back. */
void lf_ignore_begin(void);
void lf_ignore_end(void);
/* For libraries: a transaction of the calling thread begins (they nest), answers for n bytes at p from here on, and ends, done or
 * undone. What a program stores in between to other bytes is not undone with the rest (missing-snapshot). */
void lf_tx_begin(void);
void lf_tx_add(const void *p, size_t n);
void lf_tx_end(void);
/* A place where other threads may run. */
int lf_yield(void);
/* All that other threads do is tried before this place and after it. */
void lf_preempt(void);
/* A lock of your own making: held from here on (right after it was taken), given back (right before it is). */
void lf_lock(const volatile void *lock);
void lf_unlock(const volatile void *lock);
/* An allocator of your own: n bytes at p are handed out; they are given back, and nobody may touch them until they are handed out again. */
void lf_alloc_mark(const volatile void *p, size_t n);
void lf_free_mark(const volatile void *p, size_t n);
/* The world outside is told, under this name: what was done for it must stay done. How often it was, before the last power failure and
 * since. (The client of `check --client` says the same with `acked NAME`.) */
void lf_ack(const char *name);
unsigned lf_acked(const char *name);
/* Any value: `landfall prove` looks at all of them, `landfall check` at a few (--nondet). */
unsigned long lf_nondet(void);
/* Only executions in which this holds are looked at. */
void lf_assume(int holds);

#endif

#ifndef __LANDFALL__ /* without Landfall */

#ifdef __cplusplus
}
#endif
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#ifdef __cplusplus
extern "C" {
#endif

#define lf_trusted
#define lf_sealed

#define LF_FALLBACK_ROOTS 256u

/* Weak, so that all source files of a program share one region and one set of roots. */
__attribute__((weak)) void *lf_fallback_region;
__attribute__((weak)) void *lf_fallback_root[LF_FALLBACK_ROOTS];

static inline void *lf_pm(size_t bytes) {
  if (!lf_fallback_region) {
    size_t reserved = (size_t)1 << 30;
    void *region = mmap((void *)0x100000000000, bytes > reserved ? bytes : reserved, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED)
      abort();
    lf_fallback_region = region;
  }
  return lf_fallback_region;
}

static inline int lf_failures(void) { return 0; }

static inline void lf_ack(const char *name) { (void)name; }

static inline unsigned lf_acked(const char *name) {
  (void)name;
  return 0;
}

static inline void lf_flush(const void *p, size_t n) {
#if defined(__x86_64__) || defined(__i386__)
  uintptr_t line = (uintptr_t)p & ~(uintptr_t)63;
  for (; n && line < (uintptr_t)p + n; line += 64) {
#if defined(__CLWB__)
    __builtin_ia32_clwb((void *)line);
#elif defined(__CLFLUSHOPT__)
    __builtin_ia32_clflushopt((void *)line);
#else
    __builtin_ia32_clflush((const void *)line);
#endif
  }
#else
  (void)p;
  (void)n;
#endif
}

static inline void lf_fence(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_sfence();
#else
  __sync_synchronize();
#endif
}

static inline void lf_persist(const void *p, size_t n) {
  lf_flush(p, n);
  lf_fence();
}

static inline void *lf_alloc(size_t n) { return calloc(1, n ? n : 1); }
static inline void lf_free(void *p) { free(p); }
static inline void **lf_root(unsigned i) { return i < LF_FALLBACK_ROOTS ? &lf_fallback_root[i] : NULL; }
static inline void lf_checksum_begin(void) {}
static inline void lf_checksum_end(int accepted) { (void)accepted; }
static inline void lf_ignore_begin(void) {}
static inline void lf_ignore_end(void) {}
static inline void lf_tx_begin(void) {}
static inline void lf_tx_add(const void *p, size_t n) {
  (void)p;
  (void)n;
}
static inline void lf_tx_end(void) {}
static inline int lf_yield(void) { return 0; }
static inline void lf_preempt(void) {}
static inline void lf_lock(const volatile void *lock) { (void)lock; }
static inline void lf_unlock(const volatile void *lock) { (void)lock; }
static inline void lf_alloc_mark(const volatile void *p, size_t n) {
  (void)p;
  (void)n;
}
static inline void lf_free_mark(const volatile void *p, size_t n) {
  (void)p;
  (void)n;
}
static inline unsigned long lf_nondet(void) { return 0; }
void _exit(int code) __attribute__((__noreturn__));
static inline void lf_assume(int holds) {
  if (!holds)
    _exit(0);
}

#endif /* __LANDFALL__ */

#ifdef __cplusplus
}
#endif

#endif /* LANDFALL_H */
