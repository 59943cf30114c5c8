// snapshot
#include "snapshot-object.h"

void append(PMEMobjpool *pop, TOID(struct node) node, int p, struct item item) {
	TX_BEGIN(pop) {
		if (D_RO(node)->items[p].key)
			/*@*/memmove(&D_RW(node)->items[p + 1], &D_RW(node)->items[p], sizeof(item));
		/*@*/D_RW(node)->items[p] = item;
		/*@*/D_RW(node)->n += 1;
	} TX_END
}
