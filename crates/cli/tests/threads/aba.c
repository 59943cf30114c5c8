// A stack whose pop compares the head only: another thread pops two nodes and pushes the first again.
// also: --equivalence reads
// check: --checks crash
// exit: 100
// finds: assertion
// preemptions: 1
// check: --checks crash --model sc
// exit: 100
// finds: assertion
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
struct node { struct node *_Atomic next; atomic_int free; } a, b;
struct node *_Atomic head;
static struct node *pop(void) {
  for (;;) {
    struct node *top = head;
    if (!top) return 0;
    struct node *next = top->next;
    if (atomic_compare_exchange_strong(&head, &top, next)) return top;
  }
}
static void push(struct node *node) {
  struct node *top = head;
  do node->next = top; while (!atomic_compare_exchange_strong(&head, &top, node));
}
static void *one(void *_) { pop(); return 0; }
static void *two(void *_) {
  struct node *x = pop();
  struct node *y = pop();
  if (y) y->free = 1;
  if (x) push(x);
  return 0;
}
int main() {
  a.next = &b;
  head = &a;
  pthread_t p, q;
  pthread_create(&p, 0, one, 0);
  pthread_create(&q, 0, two, 0);
  pthread_join(p, 0);
  pthread_join(q, 0);
  for (struct node *n = head; n; n = n->next) assert(!n->free);
  return 0;
}
