#include <stdio.h>
#include <unistd.h>
#include "../../support/hooks.h"
int main(void) { for (int i = 0; i < 4096; i++) close(i); uint64_t *p = lf_pm(64); __lf_store8(p, 7, 0, SITE); return 9; }
