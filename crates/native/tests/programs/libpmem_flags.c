#include "../support/hooks.h"
/* PMEM_F_MEM_WC goes past the cache, PMEM_F_MEM_WB does not, whatever the length. */
void *pmem_memset(void *, int, size_t, unsigned);
int main(void) {
    char *p = lf_pm(8192);
    pmem_memset(p, 1, 8, 8); pmem_memset(p + 64, 1, 8, 16); pmem_memset(p + 1024, 1, 320, 16); return 0;
}
