/* Reads a little, stores a lot, and reads once in a while. */
#include "hooks.h"
int main(void) {
    uint64_t *p = lf_pm(1 << 20);
    for (uint64_t i = 0; i < 2000000; i++) {
        __lf_store8(p, i, 0, SITE);
        __lf_clwb(p, SITE);
        if (i % 100000 == 0) __lf_load8(p + 8 + i / 100000, 0, SITE);
    }
    return 0;
}
