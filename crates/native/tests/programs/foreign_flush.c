#include "../support/hooks.h"
/* Stores nobody instrumented, to pages no hook touched: they come before the flush that covers them. */
int main(void) {
    uint64_t *p = lf_pm(1 << 20);
    *(volatile uint64_t *)(p + 1) = 2;
    lf_persist(p + 1, 8);
    *(volatile uint64_t *)(p + 5000) = 4;
    __lf_clwb(p + 5000, SITE); __lf_sfence(SITE);
    __lf_clwb(p + 9000, SITE); /* nothing there */
    return 0;
}
