#include <stdio.h>
#include "../support/hooks.h"
/* What foreign code wrote is never what the image held: on a fresh page, and beside words a hook knows. */
int main(void) {
    uint64_t *p = lf_pm(1 << 20);
    *(volatile uint32_t *)p = 5;
    printf("%x\n", __lf_load4(p, 0, SITE));
    *(volatile uint32_t *)(p + 1) = 6;
    printf("%lx\n", __lf_load8(p + 1, 0, SITE));
    *(volatile uint64_t *)(p + 600) = 7;
    __lf_store8(p + 601, 8, 0, SITE); /* the first touch of the page is a store */
    printf("%lx\n", __lf_load8(p + 600, 0, SITE));
    return 0;
}
