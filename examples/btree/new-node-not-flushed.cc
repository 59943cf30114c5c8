// BROKEN: a node of a B-link tree is split, and the new half linked in before it is durable.
//
// Missing: lf_persist(fresh, sizeof *fresh) before the link. Recovery can follow the link to a node without keys: the
// upper half of the keys, durable until then, is gone.
#include <cassert>
#include <cstdint>
#include <landfall.h>

struct alignas(64) Node {
  static constexpr unsigned capacity = 4;
  uint64_t count;
  uint64_t keys[capacity];
  Node *right;

  unsigned live() const {
    unsigned n = count;
    while (right && n && keys[n - 1] >= right->keys[0])
      n--;
    return n;
  }
};

struct Tree {
  Node node[2];
  uint64_t promised;  // so many keys were reported as stored
};

// Moves the upper half of a full node to `fresh`.
static void split(Node *left, Node *fresh) {
  constexpr unsigned half = Node::capacity / 2;
  *fresh = Node{half, {left->keys[half], left->keys[half + 1]}, left->right};  //~ lost
  __atomic_store_n(&left->right, fresh, __ATOMIC_RELEASE);  //~ kept
  lf_persist(left, sizeof *left);
  __atomic_store_n(&left->count, half, __ATOMIC_RELEASE);  //~ cut
  lf_persist(left, sizeof *left);
}

static void append(Tree *tree, uint64_t key) {
  Node *node = &tree->node[0];
  node->keys[node->count] = key;
  // On the same line as the key, and so never durable before it.
  __atomic_store_n(&node->count, node->count + 1, __ATOMIC_RELEASE);
  lf_persist(node, sizeof *node);
  __atomic_store_n(&tree->promised, key, __ATOMIC_RELEASE);
  lf_persist(&tree->promised, sizeof tree->promised);
}

// The keys are 1, 2, 3, …; none that was promised is missing. Returns how many there are.
static uint64_t check(const Tree *tree) {
  uint64_t found = 0;
  for (const Node *node = &tree->node[0]; node; node = node->right)
    for (unsigned i = 0; i < node->live(); i++)
      found += node->keys[i] == found + 1;
  assert(found >= tree->promised);  //~ fails
  return found;
}

int main() {
  auto *tree = static_cast<Tree *>(lf_pm(sizeof(Tree)));
  uint64_t found = check(tree);
  while (found < Node::capacity)
    append(tree, ++found);
  if (!tree->node[0].right)
    split(&tree->node[0], &tree->node[1]);
  assert(check(tree) == found);
}
