// Pointers, to data and to functions, and a chain of them.
#include "pm.h"

struct node {
  struct node *next;
  int (*compare)(int, int);
};

int main(void) {
  struct node *a = pm(0), *b = pm(64);
  a->next = b;
  b->next = NULL;
  a->compare = NULL;
  assert(a->next->next == NULL);
  assert(a->compare == NULL);
  return 0;
}
