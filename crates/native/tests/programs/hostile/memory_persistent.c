/* run: --memory 64 --quiet */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../../support/hooks.h"
int main(void) { char *p = lf_pm(1L << 34); for (long i = 0; i < 1L << 34; i += 4096) __lf_store1((void *)(p + i), 1, 0, SITE); return 0; }
