/* run: --pm-heap */
#include <stdlib.h>
#include "../support/hooks.h"
/* Pages of the heap that is persistent by option, written by foreign code only. */
int main(void) {
    char *p = malloc(3 * 4096);
    *(volatile char *)p = 1; /* beside words a hook touched */
    *(volatile char *)(p + 8192) = 2;
    return 0;
}
