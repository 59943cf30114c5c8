// atomic
#include <cassert>
#include <cstdint>
#include <landfall.h>

struct Node { uint64_t key; Node *next; };
void f(Node *n) {
  n->key /*@*/= 7;
}
uint64_t g(Node *n) { return n->key; }
