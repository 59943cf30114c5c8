/* run: --pm-dir */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
/* A pool file cannot be mapped at an address of the program's choice: said, not done wrong. */
int main(int argc, char **argv) {
    char path[300];
    snprintf(path, sizeof path, "%s/pool", argv[1]);
    int fd = open(path, O_CREAT | O_RDWR, 0600);
    ftruncate(fd, 4096);
    return mmap((void *)0x600000000000, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED;
}
