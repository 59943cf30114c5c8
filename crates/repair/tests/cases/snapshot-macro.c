// snapshot
#include "snapshot-macro.h"

void grow(struct tree *tree) {
	TX_ADD_FIELD_DIRECT(tree, n);
	tree->n++;
	tree->root = /*@*/TX_ZNEW(struct node);
}
