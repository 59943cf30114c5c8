/* btree: in btree_node_construct, stores might persist out of order before flushed. */
#include "pmdk.h"

struct node {
  int64_t key;
  struct node *slots[2];
  LINE char value[16];
};

static void construct(struct node *node, int64_t key, const char *value) {
  node->key = key; //~ lost
  DURABLE(node->key);
  node->slots[0] = node->slots[1] = NULL;
  DURABLE(node->slots);
  node->value[0] = value[0]; //~ kept
  DURABLE(node->value[0]);
  lf_persist(node, sizeof *node);
}

int main(void) {
  struct {
    struct node node;
    LINE struct node *root;
  } *tree = lf_pm(sizeof *tree);
  if (lf_failures() > 0) {
    SEE(tree->node.key);
    SEE(tree->node.value[0]);
    SEE(tree->root);
    return 0;
  }
  construct(&tree->node, 7, "seven");
  tree->root = &tree->node;
  lf_persist(&tree->root, sizeof tree->root);
  return 0;
}
