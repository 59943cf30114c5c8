/* run: --pm-heap */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../support/hooks.h"
int main(void) {
    char *a = malloc(100), *b = calloc(3, 10), *c = realloc(malloc(20), 5000);
    assert(((uintptr_t)a >> 44) == 1 && ((uintptr_t)b >> 44) == 1 && ((uintptr_t)c >> 44) == 1);
    __lf_store1(a, 1, 0, SITE); strcpy(a + 8, "x"); free(a); char *d = malloc(100); assert(d == a); printf("%p %p %p\n", a, b, c); free(b); free(c);
    return 0;
}
