/* The FliT register (Wei et al., PPoPP'22), with the clients of Marmanis and Vafeiadis's table 1 in the files beside this one.
 *
 * A register is a word of persistent memory with a counter of writers that have not flushed it yet. A writer counts itself
 * in, writes, flushes, counts itself out. A reader that finds writers flushes before it goes on, so whatever is built on what it
 * read, the register is durable first. The counter itself is volatile.
 *
 * Reading of the names, where the paper is silent: `+` separates threads, a digit repeats one. `u` adds 1 to a register (the
 * first of a thread to x, the second to y, and so y <= x must be found), `w` writes 1 to a register of the thread's own, `r` loads
 * the first of those, `ld` loads x. `-w`: main writes a flag after all threads have ended; if it is found, so is all they did. `-w2`: two flags.
 *
 * -DMISSING_FLUSH takes the flush out of the first operation of the first thread. */
#ifndef FLIT_H
#define FLIT_H

#include <assert.h>
#include <emmintrin.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum { X, Y, OWN, REGISTERS = OWN + 4 };

struct memory {
  struct {
    _Alignas(64) _Atomic uint64_t value;
  } registers[REGISTERS];
  struct {
    _Alignas(64) uint64_t value;
  } flags[2];
};

static struct memory *memory;
static _Atomic uint64_t writers[REGISTERS];

static void update(int r) {
  atomic_fetch_add(&writers[r], 1);
  atomic_fetch_add(&memory->registers[r].value, 1);
  _mm_clflush(&memory->registers[r].value);
  atomic_fetch_sub(&writers[r], 1);
}

static inline void write_one(int r) {
  atomic_fetch_add(&writers[r], 1);
  atomic_store_explicit(&memory->registers[r].value, 1, memory_order_release);
  _mm_clflush(&memory->registers[r].value);
  atomic_fetch_sub(&writers[r], 1);
}

static inline uint64_t load(int r) {
  uint64_t value = atomic_load_explicit(&memory->registers[r].value, memory_order_acquire);
  if (atomic_load_explicit(&writers[r], memory_order_acquire))
    _mm_clflush(&memory->registers[r].value);
  return value;
}

/* The first operation of the first thread, without its flush if that is asked for. */
static inline void first_update(int r) {
#ifdef MISSING_FLUSH
  atomic_fetch_add(&writers[r], 1);
  atomic_fetch_add(&memory->registers[r].value, 1);
  atomic_fetch_sub(&writers[r], 1);
#else
  update(r);
#endif
}

static inline void first_write(int r) {
#ifdef MISSING_FLUSH
  atomic_fetch_add(&writers[r], 1);
  atomic_store_explicit(&memory->registers[r].value, 1, memory_order_release);
  atomic_fetch_sub(&writers[r], 1);
#else
  write_one(r);
#endif
}

static inline uint64_t found(int r) { return memory->registers[r].value; }

#define THREAD(name) static void *name(void *argument __attribute__((unused)))

static inline void run(void *(*const *threads)(void *), int count) {
  pthread_t all[4];
  for (int i = 0; i < count; i++)
    pthread_create(&all[i], NULL, threads[i], NULL);
  for (int i = 0; i < count; i++)
    pthread_join(all[i], NULL);
}

#endif
