/* run: --pm-dir */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../support/hooks.h"
/* Two files; only foreign code writes the second. msync writes back what it wrote before, not what it writes after. */
static char *map(const char *directory, const char *name) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    ftruncate(fd, 16384);
    return mmap(0, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}
int main(int argc, char **argv) {
    char *a = map(argv[1], "a"), *b = map(argv[1], "b");
    *(volatile char *)(b + 4096) = 9;
    msync(b, 16384, MS_SYNC);
    *(volatile char *)(b + 8192) = 10;
    return 0;
}
