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
/* Reads in between are checked against a checksum by the program itself. */
void lf_checksum_begin(void);
void lf_checksum_end(int accepted);
/* Reads in between are not judged. */
void lf_ignore_begin(void);
void lf_ignore_end(void);
/* For libraries: a transaction of the calling thread begins (they nest), answers for n bytes at p from here on, and ends, done or
 * undone. What a program stores in between to other bytes is not undone with the rest (missing-snapshot). */
void lf_tx_begin(void);
void lf_tx_add(const void *p, size_t n);
void lf_tx_end(void);
/* A place where other threads may run. */
int lf_yield(void);
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
