#include <stdlib.h>
struct node { long n; };
struct tree { long n; struct node *root; };
#define TX_ZNEW(t) ((t *)calloc(1, sizeof(t)))
void tx_add(const void *p, size_t n);
#define TX_ADD_FIELD_DIRECT(p, f) tx_add(&(p)->f, sizeof (p)->f)
