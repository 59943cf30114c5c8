#include <landfall.h>
#include <stdio.h>
#include <string.h>
#include <assert.h>
#include <stdatomic.h>
struct node { struct node *next; long key; char name[24]; _Atomic long count; };
static struct node *head(void) { return *(struct node **)lf_root(0); }
int main(void) {
  if (!head()) {
    for (long i = 0; i < 3; i++) {
      struct node *n = lf_alloc(sizeof *n);
      n->key = i; n->next = head(); snprintf(n->name, sizeof n->name, "node %ld", i); atomic_fetch_add(&n->count, 1);
      lf_persist(n, sizeof *n);
      *lf_root(0) = n; lf_persist(lf_root(0), 8);
    }
  }
  int k = 0; for (struct node *n = head(); n; n = n->next) { assert(n->key >= 0); k++; printf("%s\n", n->name); }
  return k;
}
