// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

#define PUSH(head, n) \
  do {                \
    (n)->next = *(head); \
  } while (0)
void f(struct node **head, struct node *n) {
  /*@*/PUSH(head, n);
  *head = n;
}
