#include "../support/hooks.h"
/* A store nobody instrumented, to a line that is flushed later, and to a page no hook touches. */
int main(void) {
    uint64_t *p = lf_pm(1 << 20);
    __lf_store8(p, 1, 0, SITE);
    *(volatile uint64_t *)(p + 1) = 2;
    __lf_clwb(p, SITE); __lf_sfence(SITE);
    *(volatile uint64_t *)(p + 3) = 3;
    *(volatile uint64_t *)(p + 5000) = 4;
    return 0;
}
