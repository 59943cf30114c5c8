#include <stdio.h>
#include "../support/hooks.h"
/* Persistent memory before main: serving starts there. */
static uint64_t seen;
__attribute__((constructor)) static void early(void) { uint64_t *p = lf_pm(64); seen = __lf_load8(p, 0, SITE); __lf_store8(p, seen + 1, 0, SITE); lf_persist(p, 8); }
int main(void) { printf("%lu\n", (unsigned long)seen); return 0; }
