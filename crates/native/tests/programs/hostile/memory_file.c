/* run: --memory 64 --quiet */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../../support/hooks.h"
int main(void) { int fd = open("/tmp/landfall-big", O_CREAT | O_RDWR, 0600); ftruncate(fd, 1L << 29); char *p = mmap(0, 1L << 29, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0); return p == MAP_FAILED ? 7 : 0; }
