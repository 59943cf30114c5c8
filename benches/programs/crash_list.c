/* N pushes; a node is durable before the head commits it. */
#include <landfall.h>
#include <assert.h>
#include <stddef.h>
#ifndef N
#define N 1000
#endif
struct node { struct node *next; long value; char pad[48]; };
struct list { struct node *head; char pad[56]; struct node nodes[N]; };
int main(void)
{
    struct list *l = lf_pm(sizeof *l);
    if (lf_failures()) {
        long expect = -1;
        for (struct node *n = l->head; n; n = n->next) {
            if (expect >= 0) assert(n->value == expect);
            expect = n->value - 1;
        }
        assert(expect <= 0);
        return 0;
    }
    for (long i = 0; i < N; i++) {
        struct node *n = &l->nodes[i];
        n->value = i + 1; n->next = l->head;
        lf_persist(n, sizeof *n);
        l->head = n;
        lf_persist(&l->head, sizeof l->head);
    }
    return 0;
}
