#include <assert.h>
#include <landfall.h>
#include <stdio.h>
#include <string.h>

/* The text is never written back: recovery finds some of it or nothing. */
int main(void) {
    char *p = lf_pm(4096), copy[16];
    if (lf_failures()) {
        size_t length = strlen(p);
        snprintf(copy, sizeof copy, "%s", p);
        if (p[64]) assert(length == 3 && !strcmp(p, "abc") && !strcmp(copy, "abc") && strchr(p, 'c'));
        return 0;
    }
    strcpy(p, "abc");
    __atomic_store_n(p + 64, 1, __ATOMIC_RELEASE);
    lf_persist(p + 64, 1);
    return 0;
}
