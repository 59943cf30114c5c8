/* run: --pm-heap-durable */
#include <stdlib.h>
#include "../support/hooks.h"
int main(void) { char *a = malloc(100); __lf_store1(a, 1, 0, SITE); free(a); return malloc(90) != a ? 0 : 1; }
