/* run: --memory 64 --quiet */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../../support/hooks.h"
int main(void) { char *p = mmap(0, 1L << 36, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0); for (long i = 0; i < 1L << 36; i += 4096) p[i] = 1; return 0; }
