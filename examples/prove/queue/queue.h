/* The durable queue of Friedman, Herlihy, Marathe and Petrank (PPoPP'18), with the clients of Marmanis and Vafeiadis's table 1 in the files
 * beside this one.
 *
 * A list with a sentinel. An enqueue fills a node and makes it durable, links it, makes the link durable, and moves the tail. A
 * dequeue prepares a cell for its result, marks the node behind the head as taken by its thread, makes the mark durable, and
 * moves the head; who finds a mark helps. A node has a line of its own, and so have head, tail, cells and flags.
 *
 * Reading of the names, where the paper is silent: `+` separates threads, a digit before a thread repeats the thread, after a
 * letter the operation. `e` enqueues a value of its own, `d` dequeues, `w` stores to a flag of the thread's own. Recovery walks the
 * list and checks: a node on it has its value; a value that was returned belongs to a node marked by that thread; nodes of one
 * thread are taken in order; if a thread's flag is found, what it did before is found too.
 *
 * -DMISSING_FLUSH takes out the flush of the new node in the first enqueue; where there is none, that of the result. */
#ifndef QUEUE_H
#define QUEUE_H

#include <assert.h>
#include <emmintrin.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#ifdef MISSING_FLUSH
enum { FIRST = 0 };
#else
enum { FIRST = 1 };
#endif

enum { NOBODY = 0, EMPTY = 99 };
#define VALUE(node) (10u + (node))

struct node {
  _Alignas(64) uint64_t value;
  _Atomic(struct node *) next;
  _Atomic uint64_t taken_by;
};

struct cell {
  _Alignas(64) _Atomic uint64_t value;
};

struct memory {
  _Alignas(64) _Atomic(struct node *) head;
  _Alignas(64) _Atomic(struct node *) tail;
  struct {
    _Alignas(64) _Atomic(struct cell *) cell;
  } results[4]; /* by thread: where its last result is */
  struct cell flags[4];
  struct cell cells[4]; /* by dequeue */
  struct node nodes[4]; /* the sentinel, then by enqueue */
};

static struct memory *memory;

#define LOAD(place) atomic_load_explicit(place, memory_order_acquire)
#define STORE(place, new) atomic_store_explicit(place, new, memory_order_release)

static inline int swap(_Atomic(struct node *) * place, struct node *old, struct node *new) {
  return atomic_compare_exchange_strong(place, &old, new);
}

static inline void enqueue(int number, int flushes) {
  struct node *node = &memory->nodes[number];
  node->value = VALUE((unsigned)number);
  STORE(&node->next, NULL);
  STORE(&node->taken_by, NOBODY);
  if (flushes)
    _mm_clflush(node);
  for (;;) {
    struct node *last = LOAD(&memory->tail);
    struct node *next = LOAD(&last->next);
    if (last != LOAD(&memory->tail))
      continue;
    if (next) {
      _mm_clflush(&last->next);
      swap(&memory->tail, last, next);
    } else if (swap(&last->next, NULL, node)) {
      _mm_clflush(&last->next);
      swap(&memory->tail, last, node);
      return;
    }
  }
}

static inline void dequeue(int thread, int number, int flushes) {
  struct cell *cell = &memory->cells[number];
  STORE(&cell->value, 0);
  _mm_clflush(cell);
  STORE(&memory->results[thread].cell, cell);
  _mm_clflush(&memory->results[thread].cell);
  for (;;) {
    struct node *first = LOAD(&memory->head);
    struct node *last = LOAD(&memory->tail);
    struct node *next = LOAD(&first->next);
    if (first != LOAD(&memory->head))
      continue;
    if (first == last) {
      if (!next) {
        STORE(&cell->value, EMPTY);
        if (flushes)
          _mm_clflush(cell);
        return;
      }
      _mm_clflush(&last->next);
      swap(&memory->tail, last, next);
      continue;
    }
    uint64_t value = next->value, nobody = NOBODY;
    if (atomic_compare_exchange_strong(&next->taken_by, &nobody, (uint64_t)thread + 1)) {
      _mm_clflush(&next->taken_by);
      STORE(&cell->value, value);
      if (flushes)
        _mm_clflush(cell);
      swap(&memory->head, first, next);
      return;
    }
    struct cell *theirs = LOAD(&memory->results[nobody - 1].cell);
    if (LOAD(&memory->head) == first) {
      _mm_clflush(&next->taken_by);
      STORE(&theirs->value, value);
      _mm_clflush(theirs);
      swap(&memory->head, first, next);
    }
  }
}

static inline void write_flag(int thread) { STORE(&memory->flags[thread].value, 1); }

/* What recovery asks. */
static inline int is_on_list(int number) {
  struct node *node = memory->head;
  for (int i = 0; i < 4; i++) {
    if (node == &memory->nodes[number])
      return 1;
    if (!node)
      return 0;
    node = node->next;
  }
  return 0;
}
static inline int is_whole(int number) { return memory->nodes[number].value == VALUE((unsigned)number); }
static inline int is_taken(int number) { return memory->nodes[number].taken_by != NOBODY; }
static inline int is_taken_by(int number, int thread) {
  return memory->nodes[number].taken_by == (uint64_t)thread + 1;
}
static inline uint64_t result(int number) { return memory->cells[number].value; }
static inline int flag(int thread) { return memory->flags[thread].value != 0; }

#define THREAD(name) static void *name(void *argument __attribute__((unused)))

static inline void run(void *(*const *threads)(void *), int count) {
  memory->head = memory->tail = &memory->nodes[0];
  _mm_clflush((void *)&memory->head);
  _mm_clflush((void *)&memory->tail);
  pthread_t all[4];
  for (int i = 0; i < count; i++)
    pthread_create(&all[i], NULL, threads[i], NULL);
  for (int i = 0; i < count; i++)
    pthread_join(all[i], NULL);
}

#endif
