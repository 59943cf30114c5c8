/* The link-free durable set of Zuriel, Friedman, Sheffi, Cohen and Petrank (OOPSLA'19), with the clients of Marmanis and Vafeiadis's table 1 in
 * the files beside this one.
 *
 * A sorted list whose links need not survive: recovery looks at all nodes and takes those that are valid and not marked as
 * removed. A node lies on one line, so its stores become durable in their order. An insert makes its node invalid, fills it, links
 * it, makes it valid, and writes it back; who finds the key there helps with the last two. A remove makes the node valid, marks its
 * link, and writes it back before (or while) it is unlinked. Each node remembers in volatile sense only (nobody recovers it) that it
 * was written back, so that nobody does it twice.
 *
 * Reading of the names, where the paper is silent: `+` separates threads; `i` inserts (key 1, the second of a thread key 2), `r`
 * removes key 1, `c` asks for key 1; each answer is stored in a cell, as a caller would. `w` stores to a flag of the thread's own;
 * `-w`: main does, after all threads have ended. Recovery checks what durable linearizability promises: a valid node has its key;
 * no key is there twice; an answer or a flag that is found says that what it answers is found as well.
 *
 * -DMISSING_FLUSH takes the flush out of inserts; -DMISSING_REMOVE_FLUSH out of removes. */
#ifndef SET_H
#define SET_H

#include <assert.h>
#include <emmintrin.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum { INVALID = 1, VALID = 3, LAST_KEY = 100 };
enum answer { NONE, YES, NO };

struct node {
  _Alignas(64) _Atomic uint8_t valid; /* two bits, equal if it is; 0 in a node that was never used */
  _Atomic uint8_t insert_flushed, remove_flushed;
  uint64_t key;
  _Atomic uintptr_t next; /* the lowest bit marks this node as removed */
};

struct word {
  _Alignas(64) uint64_t value;
};

struct memory {
  struct node nodes[2]; /* by insert */
  struct word answers[3], flags[3];
};

static struct memory *memory;
/* The ends of the list, and its links, are made anew after a failure: they are in volatile memory. */
static struct node first, last;

#define LOAD(place) atomic_load_explicit(place, memory_order_acquire)
#define STORE(place, new) atomic_store_explicit(place, new, memory_order_release)

static inline struct node *target(uintptr_t link) { return (struct node *)(link & ~(uintptr_t)1); }
static inline int is_marked(uintptr_t link) { return (int)(link & 1); }

static inline int swap(_Atomic uintptr_t *place, uintptr_t old, uintptr_t new) {
  return atomic_compare_exchange_strong(place, &old, new);
}

static inline void make_valid(struct node *node) {
  if (LOAD(&node->valid) != VALID)
    STORE(&node->valid, VALID);
}

static inline void flush_insert(struct node *node) {
#ifndef MISSING_FLUSH
  if (!LOAD(&node->insert_flushed)) {
    _mm_clflush(node);
    STORE(&node->insert_flushed, 1);
  }
#else
  (void)node;
#endif
}

static inline void flush_remove(struct node *node) {
#ifndef MISSING_REMOVE_FLUSH
  if (!LOAD(&node->remove_flushed)) {
    _mm_clflush(node);
    STORE(&node->remove_flushed, 1);
  }
#else
  (void)node;
#endif
}

static inline void unlink_node(struct node *before, struct node *node) {
  flush_remove(node);
  uintptr_t after = LOAD(&node->next) & ~(uintptr_t)1;
  swap(&before->next, (uintptr_t)node, after);
}

/* The first node that is not smaller, and the one before it. */
static inline struct node *find(uint64_t key, struct node **before) {
  *before = &first;
  struct node *node = target(LOAD(&first.next));
  for (;;) {
    uintptr_t next = LOAD(&node->next);
    if (is_marked(next)) {
      unlink_node(*before, node);
    } else {
      if (node->key >= key)
        return node;
      *before = node;
    }
    node = target(next);
  }
}

static inline enum answer insert(int number, uint64_t key) {
  for (;;) {
    struct node *before, *node = find(key, &before);
    if (node->key == key) {
      make_valid(node);
      flush_insert(node);
      return NO;
    }
    struct node *new = &memory->nodes[number];
    STORE(&new->valid, INVALID);
    new->key = key;
    STORE(&new->next, (uintptr_t)node);
    if (swap(&before->next, (uintptr_t)node, (uintptr_t)new)) {
      make_valid(new);
      flush_insert(new);
      return YES;
    }
  }
}

static inline enum answer remove_key(uint64_t key) {
  for (;;) {
    struct node *before, *node = find(key, &before);
    if (node->key != key)
      return NO;
    uintptr_t next = LOAD(&node->next) & ~(uintptr_t)1;
    make_valid(node);
    if (swap(&node->next, next, next | 1)) {
      unlink_node(before, node);
      return YES;
    }
  }
}

static inline enum answer contains(uint64_t key) {
  struct node *node = target(LOAD(&first.next));
  while (node->key < key)
    node = target(LOAD(&node->next));
  if (node->key != key)
    return NO;
  if (is_marked(LOAD(&node->next))) {
    flush_remove(node);
    return NO;
  }
  make_valid(node);
  flush_insert(node);
  return YES;
}

static inline void answer(int number, enum answer is) { memory->answers[number].value = is; }
static inline void write_flag(int thread) { memory->flags[thread].value = 1; }

/* What recovery asks. */
static inline int was_inserted(int number) { return memory->nodes[number].valid == VALID; }
static inline int is_there(int number) { return was_inserted(number) && !is_marked(memory->nodes[number].next); }
static inline int has_key(int number, uint64_t key) { return memory->nodes[number].key == key; }
static inline int answered(int number, enum answer is) { return memory->answers[number].value == (uint64_t)is; }
static inline int flag(int thread) { return memory->flags[thread].value != 0; }

#define THREAD(name) static void *name(void *argument __attribute__((unused)))

static inline void run(void *(*const *threads)(void *), int count) {
  last.key = LAST_KEY;
  first.next = (uintptr_t)&last;
  pthread_t all[3];
  for (int i = 0; i < count; i++)
    pthread_create(&all[i], NULL, threads[i], NULL);
  for (int i = 0; i < count; i++)
    pthread_join(all[i], NULL);
}

#endif
