/* The durable queue of Friedman, Herlihy, Marathe and Petrank (PPoPP 2018): a link is persisted by whoever passes it, before
 * anything is built on it. */
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct node {
  _Alignas(64) atomic_int next;  /* a number; 0 is none */
  int value;
};

static struct pool {
  struct node nodes[3];           /* nodes[0] is the dummy */
  _Alignas(64) atomic_int returned[2];   /* what each thread has been told is in the queue */
} *pool;

static atomic_int tail;  /* found again by recovery */

static void enqueue(int node, int value) {
  pool->nodes[node].value = value;
  lf_persist(&pool->nodes[node], sizeof(struct node));
  for (;;) {
    int last = atomic_load(&tail);
    struct node *at = &pool->nodes[last];
    int none = 0;
    if (atomic_compare_exchange_strong(&at->next, &none, node)) {  //~ link
      lf_persist(&at->next, sizeof at->next);
      atomic_compare_exchange_strong(&tail, &last, node);
      return;
    }
    /* Somebody else's node comes first. */
    lf_persist(&at->next, sizeof at->next);
    atomic_compare_exchange_strong(&tail, &last, none);
  }
}

static void recover(void) {
  int found[3] = {0};
  for (int at = pool->nodes[0].next; at; at = pool->nodes[at].next) {
    assert(pool->nodes[at].value == at);
    found[at] = 1;
  }
  for (int thread = 0; thread < 2; thread++)
    assert(!pool->returned[thread] || found[thread + 1]);  //~ fails
}

static void *work(void *number) {
  int me = number != NULL;
  enqueue(me + 1, me + 1);
  atomic_store_explicit(&pool->returned[me], 1, memory_order_release);  //~ returned
  lf_persist(&pool->returned[me], sizeof(int));
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
  recover();
  return 0;
}
