#include "../support/hooks.h"
/* Pages of the persistent heap that only foreign code wrote. */
int main(void) {
    char *p = lf_alloc(3 * 4096);
    *(volatile char *)p = 1; /* beside words a hook touched */
    *(volatile char *)(p + 8192) = 2;
    return 0;
}
