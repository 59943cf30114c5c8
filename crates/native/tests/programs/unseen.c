#define _GNU_SOURCE
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include "../support/hooks.h"
/* Functions of libc that the runtime does not provide: what they do to persistent memory is seen all the same. */
int main(void) {
    char *p = lf_pm(16384), *line = NULL;
    size_t room = 0;
    printf("%d\n", strcoll(p, "a") < 0);
    printf("%.1Lf\n", strtold(p + 64, NULL));
    printf("%d\n", strverscmp(p + 128, "1") < 0);
    printf("%p\n", (void *)strcasestr(p + 192, "x"));
    FILE *in = fmemopen(p + 256, 4, "r");
    printf("%d\n", fgetc(in));
    FILE *out = fmemopen(p + 320, 8, "w");
    fputs("abc", out), fclose(out);
    puts(p + 320);
    strfry(p + 384);
    memfrob(p + 448, 2);
    printf("%zu\n", strxfrm(p + 512, "zz", 8));
    *(volatile char *)(p + 640) = 7; /* the last bytes of a page, and the first of the next */
    printf("%lx\n", *(volatile uint64_t *)(p + 4092));
    *(volatile uint64_t *)(p + 8188) = 0x1122334455667788;
    __lf_clwb(p, SITE);
    return 0;
}
