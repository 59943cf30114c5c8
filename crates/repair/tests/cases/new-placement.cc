// durable bytes=8
#include <landfall.h>
#include <new>
struct Node { long value; Node *next; };
void place(Node *at, long value) {
  new (at) Node{/*@*/value, nullptr};
}
