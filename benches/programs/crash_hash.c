/* N inserts, the key commits the slot, one line per slot: written back together, so the order on the line is what counts. */
#include <landfall.h>
#include <assert.h>
#ifndef N
#define N 1000
#endif
struct slot { long value, key; char pad[48]; };
int main(void)
{
    struct slot *t = lf_pm(N * sizeof *t);
    if (lf_failures())
        for (int i = 0; i < N; i++)
            if (t[i].key) assert(t[i].value == i + 7);
    if (lf_failures()) return 0;
    for (int i = 0; i < N; i++) {
        t[i].value = i + 7;
        t[i].key = i + 1;
        lf_persist(&t[i], sizeof t[i]);
    }
    return 0;
}
