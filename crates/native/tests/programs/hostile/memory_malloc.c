/* run: --memory 64 --quiet */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../../support/hooks.h"
int main(void) { for (;;) { char *p = malloc(1 << 20); if (!p) return 7; memset(p, 1, 1 << 20); } }
