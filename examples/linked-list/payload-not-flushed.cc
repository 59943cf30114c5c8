// BROKEN: the node is made durable, the name it points to never is.
//
// Missing: lf_persist(name, sizeof *name). Flushing an object does not flush what its pointers lead to. The name is on
// another line than its owner, so recovery can follow node->name to an object whose pointer, or letter, is still zero.
#include <cassert>
#include <landfall.h>
#include <new>

struct Name {
  const char *text;
  char storage[56];

  explicit Name(char letter) : text(storage), storage{letter, 0} {}  //~ lost
};

struct Node {
  Name *name;
  Node *next;
};

static void push(Node **head, char letter) {
  Name *name = new (lf_alloc(sizeof(Name))) Name(letter);
  Node *node = new (lf_alloc(sizeof(Node))) Node{name, *head};
  lf_persist(node, sizeof *node);
  __atomic_store_n(head, node, __ATOMIC_RELEASE);  //~ kept
  lf_persist(head, sizeof *head);
}

static int length(const Node *head) {
  int n = 0;
  for (const Node *node = head; node; node = node->next, n++)
    assert(node->name->text[0] >= 'a');  //~ fails
  return n;
}

int main() {
  Node **head = reinterpret_cast<Node **>(lf_root(0));
  int before = length(*head);
  push(head, 'a');
  push(head, 'b');
  assert(length(*head) == before + 2);
}
