/* run: --events 100000 */
#include <stdio.h>
#include <string.h>
#include "../../support/hooks.h"
int main(void) { static char b[1 << 16]; memset(b, 'x', sizeof b); for (;;) { STEP(); fwrite(b, 1, sizeof b, stdout); } }
