/* BROKEN: the mark is taken off what is read, and nobody persists the link.
 *
 * Missing: who follows a marked link must flush it. A node is appended behind one whose link is not durable yet. */
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#define DIRTY 0x100  /* the link may not be durable yet */

struct node {
  _Alignas(64) atomic_int next;  /* a number; 0 is none */
};

static struct pool {
  struct node nodes[3];          /* nodes[0] is the head */
  _Alignas(64) atomic_int inserted[2];  /* what each thread has been told */
} *pool;

static int follow(struct node *node) {
  int next = atomic_load(&node->next);  //~ read
  return next & ~DIRTY;
}

/* Appends a node at the end. */
static void insert(int number) {
  for (;;) {
    struct node *at = &pool->nodes[0];
    for (int next; (next = follow(at)) != 0;)
      at = &pool->nodes[next];
    int none = 0;
    if (atomic_compare_exchange_strong(&at->next, &none, number | DIRTY)) {  //~ link
      lf_persist(&at->next, sizeof at->next);
      int dirty = number | DIRTY;
      atomic_compare_exchange_strong(&at->next, &dirty, number);
      return;
    }
  }
}

static void recover(void) {
  int found[3] = {0};
  for (int at = pool->nodes[0].next & ~DIRTY; at; at = pool->nodes[at].next & ~DIRTY)
    found[at] = 1;
  for (int thread = 0; thread < 2; thread++)
    assert(!pool->inserted[thread] || found[thread + 1]);  //~ fails
}

static void *work(void *number) {
  int me = number != NULL;
  insert(me + 1);
  atomic_store_explicit(&pool->inserted[me], 1, memory_order_release);  //~ inserted
  lf_persist(&pool->inserted[me], sizeof(int));
  return NULL;
}

int main(void) {
  pool = lf_pm(sizeof *pool);
  recover();
  if (lf_failures())
    return 0;
  pthread_t other;
  pthread_create(&other, NULL, work, &other);
  work(NULL);
  pthread_join(other, NULL);
  return 0;
}
