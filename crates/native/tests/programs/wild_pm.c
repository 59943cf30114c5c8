#include "../support/hooks.h"
int main(void) { char *p = lf_pm(4096); __lf_store8(p + (1 << 20), 1, 0, SITE); }
