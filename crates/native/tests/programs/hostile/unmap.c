#include <stdio.h>
#include <sys/mman.h>
#include "../../support/hooks.h"
/* Tries to pull persistent memory and the runtime's from under it. */
int main(void) {
    uint64_t *p = lf_pm(4096);
    printf("%d\n", munmap(p, 4096)); printf("%d\n", munmap((void *)0x300000000000, 1 << 20)); printf("%d\n", mmap((void *)0x400000000000, 4096, 3, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    __lf_store8(p, 1, 0, SITE); return 0;
}
