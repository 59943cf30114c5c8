// durable bytes=64
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

void push(struct node **head, uint64_t value) {
  struct node *node = lf_alloc(sizeof *node);
  *node = (struct node){.value = /*@*/value, .next = *head};
  *head /*@before*/= node;
  lf_persist(head, sizeof *head);
}
