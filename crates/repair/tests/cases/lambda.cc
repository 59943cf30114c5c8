// durable bytes=8
#include <landfall.h>
struct Node { long keys[4]; long count; };
void each(Node *n, void (*go)(long));
void f(Node *n) {
  auto store = [n](long i) { n->keys[i] /*@*/= i; };
  store(1);
}
