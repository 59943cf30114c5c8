/* run: --events 100000 */
#include "../support/hooks.h"
/* What it counts is neither in registers nor on the stack: it computes, for all anyone knows. */
static unsigned long count;
int main(void) { for (;;) { count++; STEP(); } }
