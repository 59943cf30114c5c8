#include "../support/hooks.h"
#include <assert.h>
static void check(int x) { assert(x == 7 && "seven"); }
int main(void) { check(8); }
