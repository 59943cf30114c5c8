// Blocks of the heap are called by where they come from, their type and member; two from one place are two.
// check: --checks data-races
// exit: 100
// finds: data-race data race on `named_heap.c:20 node#1->data[1]`
// finds: data-race data race on `named_heap.c:20 node#2->data[0]`
#include <pthread.h>
#include <stdlib.h>
struct node {
  int key;
  struct node *next;
  int data[2];
};
static struct node *a, *b;
static void *changes(void *_) {
  a->data[1] = 1;
  b->data[0]++;
  return 0;
}
static struct node *made(void) {
  struct node *n = malloc(sizeof *n);
  n->next = 0;
  return n;
}
int main() {
  a = made();
  b = made();
  pthread_t p;
  pthread_create(&p, 0, changes, 0);
  a->data[1] = 2;
  b->data[0] = 3;
  pthread_join(p, 0);
  free(a);
  free(b);
  return 0;
}
