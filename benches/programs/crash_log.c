/* N appends; the length commits an entry, recovery looks at the last one: as much work for a long log as for a short one. */
#include <landfall.h>
#include <assert.h>
#ifndef N
#define N 1000
#endif
struct log { long length; char pad[56]; struct entry { long value; char pad[56]; } entries[N]; };
int main(void)
{
    struct log *l = lf_pm(sizeof *l);
    if (lf_failures()) {
        if (l->length) assert(l->entries[l->length - 1].value == l->length);
        return 0;
    }
    for (long i = 0; i < N; i++) {
        l->entries[i].value = i + 1;
        lf_persist(&l->entries[i], sizeof l->entries[i]);
        l->length = i + 1;
        lf_persist(&l->length, sizeof l->length);
    }
    return 0;
}
