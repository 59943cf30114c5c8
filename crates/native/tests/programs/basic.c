#include "../support/hooks.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
    uint64_t *p = lf_pm(4096);
    printf("hello %d\n", argc);
    if (__lf_load8(p, 0, SITE) == 0) {
        __lf_store8(p + 1, 42, 0, SITE);
        __lf_clwb(p + 1, SITE);
        __lf_sfence(SITE);
        __lf_store8(p, 1, 0, SITE);
        __lf_clwb(p, SITE);
        __lf_sfence(SITE);
    } else {
        printf("recovered %lu\n", (unsigned long)__lf_load8(p + 1, 0, SITE));
    }
    char *s = strdup("on the heap");
    printf("%s\n", s);
    free(s);
    return 3;
}
