/* KEYS keys go into a published index, each by one of THREADS threads; the power fails; what is found is what was put there. An index gives
 * `create`, `put` and `get`, `open` for what whoever opens it has to do first, alone, and `ready` for what each thread has to. */
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <landfall.h>
#include <pthread.h>

#ifndef THREADS
#define THREADS 1
#endif

struct index_type;
static index_type *create();
static void open(index_type *index);
static void ready(index_type *index, int thread);
static void put(index_type *index, uint64_t key, int thread);
static uint64_t get(index_type *index, uint64_t key);

static uint64_t key(int number) { return 3 + 7 * number; }

struct part {
  index_type *index;
  int thread;
  int there[KEYS];
};

static void *insert(void *of) {
  part *mine = static_cast<part *>(of);
  ready(mine->index, mine->thread);
  for (int number = mine->thread; number < KEYS; number += THREADS)
    if (!mine->there[number])
      put(mine->index, key(number), mine->thread);
  return nullptr;
}

/* As if what was done so far flushed what it stores. */
static void settle(void *index) {
#ifdef SETTLED
  uintptr_t from = reinterpret_cast<uintptr_t>(index) & ~(SETTLED - 1ul);
  for (uintptr_t at = from; at < from + SETTLED; at += 4096) {
    lf_persist(reinterpret_cast<void *>(at), 4096);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
  }
#else
  (void)index;
#endif
}

int main() {
  void **root = lf_root(0);
  if (!*root) {
    void *index = create();
    settle(index);
    *root = index;
    lf_persist(root, sizeof *root);
  }
  index_type *index = static_cast<index_type *>(*root);
  open(index);
  ready(index, 0);
  static part parts[THREADS];
  int there[KEYS];
  for (int number = 0; number < KEYS; number++) {
    uint64_t found = get(index, key(number));
    assert(!found || found == key(number));
    there[number] = found != 0;
    /* A thread inserts its keys in order. */
    if (number >= THREADS)
      assert(!there[number] || there[number - THREADS]);
  }
  for (int thread = 0; thread < THREADS; thread++) {
    parts[thread].index = index;
    parts[thread].thread = thread;
    for (int number = 0; number < KEYS; number++)
      parts[thread].there[number] = there[number];
  }
  if (lf_failures()) /* what was done is looked at; nobody goes on: whose locks are open again is another question */
    return 0;
#if THREADS == 1
  insert(&parts[0]);
#else
  pthread_t started[THREADS];
#ifdef SHARED_WITH_TBB
  /* What TBB keeps for main lies in the index, and nobody flushes it. */
  settle(index);
#endif
  for (int thread = 0; thread < THREADS; thread++)
    pthread_create(&started[thread], nullptr, insert, &parts[thread]);
  for (int thread = 0; thread < THREADS; thread++)
    pthread_join(started[thread], nullptr);
#endif
  return 0;
}
