#include <stddef.h>
#include <stdio.h>
#include "../../support/hooks.h"
static char arena[1 << 16]; static size_t used; static int calls;
void *malloc(size_t n) { calls++; void *p = arena + used; used += (n + 15) & ~15ul; return p; }
void free(void *p) { (void)p; }
void *calloc(size_t a, size_t b) { return malloc(a * b); }
void *realloc(void *p, size_t n) { (void)p; return malloc(n); }
void *memcpy(void *d, const void *s, size_t n) { calls++; char *a = d; const char *b = s; while (n--) *a++ = *b++; return d; }
void *memset(void *d, int c, size_t n) { calls++; char *a = d; while (n--) *a++ = c; return d; }
int main(void) { uint64_t *p = lf_pm(4096); char *m = malloc(100); __lf_store8(p, 5, 0, SITE); char big[200]; __lf_memcpy(p + 8, arena, 200, SITE); printf("%d\n", m == 0); return 0; }
