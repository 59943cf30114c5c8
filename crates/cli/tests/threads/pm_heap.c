// malloc is persistent memory, and two threads use it at once.
// check: --pm-heap --checks crash
// exit: 0
// check: --pm-heap --checks crash -DFORGETS --pm-fill zero
// exit: 100
// finds: assertion `n->value` is false
// check: --pm-heap --checks crash -DFORGETS
// exit: 100
// finds: segfault
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
struct node { uint64_t value; struct node *next; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *push(void *v) {
  struct node *n = malloc(sizeof *n);
  n->value = (uint64_t)v;
  pthread_mutex_lock(&lock);
  struct node **head = (struct node **)lf_root(0);
  n->next = *head;
#ifndef FORGETS
  lf_persist(n, sizeof *n);
#endif
  *head = n;
  lf_persist(head, sizeof *head);
  pthread_mutex_unlock(&lock);
  return 0;
}
int main(void) {
  if (lf_failures() > 0) {
    for (struct node *n = *lf_root(0); n; n = n->next) assert(n->value);
    return 0;
  }
  pthread_t a;
  pthread_create(&a, 0, push, (void *)1);
  push((void *)2);
  pthread_join(a, 0);
  return 0;
}
