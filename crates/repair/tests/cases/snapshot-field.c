// snapshot
#include "snapshot-field.h"

void count(PMEMobjpool *pop, TOID(struct node) node, int p) {
  TX_BEGIN(pop) {
    for (int i = 0; i < p; i++)
      /*@*/D_RW(node)->items[i].key = 0;
  } TX_END
}
