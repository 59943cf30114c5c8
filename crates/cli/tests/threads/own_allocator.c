// An allocator of the program's own says what it hands out and takes back (lf_alloc_mark, lf_free_mark): whoever touches a block in between is told,
// wherever it lies, with threads or without; the allocator itself asks not to be judged.
// check:
// exit: 0
// check: --model sc
// exit: 0
// check: -DLATE
// exit: 100
// finds: use-after-free 8 bytes into a block of 16 that was freed
// note: the block was freed at
// check: -DLATE --model sc
// exit: 100
// finds: use-after-free writes 4 bytes
// check: -DLATE --checks crash
// exit: 0
// check: -DALONE
// exit: 100
// finds: use-after-free reads 4 bytes
// check: -DTWICE
// exit: 100
// finds: double-free a second time
// check: -DREUSED
// exit: 100
// finds: use-after-free writes 4 bytes
// check: -DON_THE_HEAP -DLATE
// exit: 100
// finds: use-after-free writes 4 bytes
// check: -DPARTS
// exit: 0
// check: -DPARTS -DALONE
// exit: 100
// finds: use-after-free reads 4 bytes
// check: -DSTORED_BEFORE
// exit: 0
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
struct node {
  struct node *next;
  int value;
};
static struct node *first;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static struct node *get(void) {
  pthread_mutex_lock(&m);
  lf_ignore_begin();
  struct node *node = first;
  first = node->next;
  lf_ignore_end();
  lf_alloc_mark(node, sizeof *node);
  pthread_mutex_unlock(&m);
  return node;
}
static void put(struct node *node) {
  pthread_mutex_lock(&m);
  lf_free_mark(node, sizeof *node);
  lf_ignore_begin();
  node->next = first;
  first = node;
  lf_ignore_end();
  pthread_mutex_unlock(&m);
}
static struct node *shared;
static atomic_int done;
static void *other(void *unused) {
#ifdef STORED_BEFORE
  shared->value = 1; /* may wait in the store buffer, not for longer than until it is given back */
#endif
  put(shared);
#ifdef REUSED
  put(get());
  struct node *mine = get();
  mine->value = 2;
#endif
  atomic_store(&done, 1);
  return unused;
}
int main(void) {
#ifdef ON_THE_HEAP
  struct node *arena = malloc(4 * sizeof *arena);
#else
  static struct node arena[4];
#endif
#ifdef PARTS
  lf_free_mark(arena, sizeof arena);
  lf_alloc_mark(&arena[1], 2 * sizeof *arena);
  arena[1].value = arena[2].value;
  lf_free_mark(&arena[1], sizeof *arena);
  arena[2].value = 1;
  lf_alloc_mark(arena, 4 * sizeof *arena);
  arena[0].value = arena[3].value;
#endif
  for (int i = 0; i < 4; i++)
    put(&arena[i]);
  shared = get();
  shared->value = 0;
  pthread_t thread;
  pthread_create(&thread, 0, other, 0);
#if defined(LATE) || defined(REUSED)
  shared->value = 3;
#endif
  pthread_join(thread, 0);
#ifdef ALONE
  return shared->value;
#endif
#ifdef TWICE
  put(shared);
#endif
  return 0;
}
