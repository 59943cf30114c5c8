// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

#define EACH(n, head) for (struct node *n = (head); n; n = n->next)
void f(struct node *head) {
  EACH(n, head) {
    n->value /*@*/= 1;
  }
  head->count = 2;
}
