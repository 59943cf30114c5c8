/* arttree: non-atomic stores in art_insert. A leaf is linked before it and the number of children are durable. */
#include "pmdk.h"

struct leaf {
  LINE uint64_t key;
  uint64_t value;
};

struct tree {
  LINE struct leaf *children[2];
  LINE uint64_t count;
  struct leaf leaves[2];
};

static void art_insert(struct tree *tree, int at, uint64_t key) {
  struct leaf *leaf = &tree->leaves[at];
  leaf->key = key; //~ lost
  leaf->value = 10 * key;
  DURABLE(*leaf);
  tree->children[at] = leaf; //~ kept
  DURABLE(tree->children[at]);
  tree->count++;
  DURABLE(tree->count);
  lf_persist(tree, sizeof *tree);
}

int main(void) {
  struct tree *tree = lf_pm(sizeof *tree);
  if (lf_failures() > 0) {
    for (int i = 0; i < 2; i++)
      if (tree->children[i])
        SEE(tree->children[i]->key);
    SEE(tree->count);
    return 0;
  }
  art_insert(tree, 0, 1);
  art_insert(tree, 1, 2);
  return 0;
}
