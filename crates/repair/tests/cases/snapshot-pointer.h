#include <stddef.h>
#include <string.h>
typedef struct pool PMEMobjpool;
#define TOID(t) struct toid
struct item { long key; };
struct node { long n; struct item items[8]; };
struct toid { struct node *p; };
#define D_RW(o) ((o).p)
#define D_RO(o) ((const struct node *)(o).p)
#define TX_BEGIN(pop) if (pop)
#define TX_END
void tx_add(const void *p, size_t n);
#define TX_ADD(o) tx_add((o).p, sizeof *(o).p)
#define TX_ADD_FIELD(o, f) tx_add(&(o).p->f, sizeof (o).p->f)
#define TX_ADD_FIELD_DIRECT(p, f) tx_add(&(p)->f, sizeof (p)->f)
#define TX_ADD_DIRECT(p) tx_add((p), sizeof *(p))
void pmemobj_tx_add_range_direct(const void *p, size_t n);
