// durable bytes=8
#include <landfall.h>
#include <new>
struct Node { long value; Node *next; };
void push(Node **head, long value) {
  Node *node = /*@*/new (lf_alloc(sizeof(Node))) Node{value, *head};
  *head = node;
  lf_persist(head, sizeof *head);
}
