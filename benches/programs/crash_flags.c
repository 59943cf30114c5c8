/* N flags on lines of their own, nothing flushed: 2^N recoveries, each reading N words. */
#include <landfall.h>
#ifndef N
#define N 14
#endif
struct flag { long set; char pad[56]; };
int main(void)
{
    struct flag *f = lf_pm(N * sizeof *f);
    if (lf_failures()) {
        long set = 0;
        for (int i = 0; i < N; i++) set += f[i].set;
        return set > N;
    }
    for (int i = 0; i < N; i++) f[i].set = 1;
    return 0;
}
