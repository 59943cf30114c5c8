/* run: --events 100000 */
#include "../support/hooks.h"
int main(void) { for (;;) STEP(); }
