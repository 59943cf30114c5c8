/* run: --pm-heap */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* Blocks that libc allocates for the program are persistent like its own. */
int main(void) {
    char *a = strdup("one"), *b = strndup(a, 2), *c;
    printf("%d\n", asprintf(&c, "%s-%s", a, b));
    puts(c), free(b);
    return 0;
}
