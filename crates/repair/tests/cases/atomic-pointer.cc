// atomic
#include <landfall.h>
struct Node { Node *next; };
void f(Node *n, Node *m) {
  n->next /*@*/= m;
}
