#include "../support/hooks.h"
/* Ten million events. */
int main(void) {
    uint64_t *p = lf_pm(1 << 20);
    for (int i = 0; i < 5000000; i++) { __lf_store8(p + i % 1000, i, 0, SITE); __lf_clwb(p + i % 1000, SITE); }
    return 0;
}
