/* run: --events 100000 */
#include "../support/hooks.h"
/* Comes back to where it was after some turns: memory, registers and all. */
static unsigned long count;
int main(void) { for (;;) { count = (count + 1) % 7; STEP(); } }
