#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../support/hooks.h"
/* How far a text is read depends on its bytes, so each is a read of its own. The pool holds zeros. */
int main(void) {
    char *p = lf_pm(8192), to[32];
    __lf_store4(p + 1, 0x636261, 0, SITE);
    printf("%zu %zu\n", strlen(p), strnlen(p + 4, 2));
    printf("%d\n", strcmp(p + 64, p + 72) + strncmp(p + 80, "x", 3) + memcmp(p + 90, p + 100, 8));
    strcpy(to, p + 128); strncpy(to, p + 136, 4); to[0] = 0; strcat(to, p + 144); strncat(to, p + 152, 2);
    free(strdup(p + 160)); printf("%d%d\n", strchr(p + 168, 'x') == 0, strrchr(p + 176, 'x') == 0);
    __lf_store1(p + 192, 'a', 0, SITE); __lf_store1(p + 194, 'b', 0, SITE); __lf_store1(p + 184, 'a', 0, SITE);
    printf("%d %d\n", strstr(p + 192, "b") == 0, memchr(p + 184, 0, 8) == p + 185);
    __lf_store1(p + 200, 'x', 0, SITE); puts(p + 200); snprintf(to, 32, "%s %.1s", p + 208, p + 216);
    strcat(p + 224, "abc"); return 0;
}
