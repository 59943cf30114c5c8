/* Treiber's stack. The top carries a count, so that a top that was changed and changed back is not mistaken for the old one. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* A node, and how often the top changed. */
#define TOP(node, tag) ((uint64_t)(tag) << 32 | (uint64_t)(node))
#define NODE(top) ((int)((top) & 0xffffffff))
#define TAG(top) ((top) >> 32)

static atomic_int below[3];  /* of each node; 0 is none */
static atomic_int owned[3];
static _Atomic uint64_t top;

static int pop(void) {
  uint64_t old = atomic_load(&top);
  int next;
  do {
    if (NODE(old) == 0)
      return 0;
    next = atomic_load(&below[NODE(old)]);
  } while (!atomic_compare_exchange_strong(&top, &old, TOP(next, TAG(old) + 1)));
  int before = atomic_exchange(&owned[NODE(old)], 1);
  assert(before == 0);  //~ fails
  return NODE(old);
}

static void push(int node) {
  atomic_store(&owned[node], 0);
  uint64_t old = atomic_load(&top);
  do
    atomic_store(&below[node], NODE(old));
  while (!atomic_compare_exchange_strong(&top, &old, TOP(node, TAG(old) + 1)));
}

/* Takes two and puts the first one back: the top is what it was, but not what is below it. */
static void *shuffle(void *unused) {
  int first = pop();
  pop();
  if (first)
    push(first);
  return unused;
}

int main(void) {
  below[2] = 1;
  top = TOP(2, 0);  /* 2, and 1 below it */
  pthread_t other;
  pthread_create(&other, NULL, shuffle, NULL);
  pop();
  pop();
  pthread_join(other, NULL);
  return 0;
}
