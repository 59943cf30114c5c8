/* run: --seeded */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
/* A mapping of what is on disk cannot show what is written to the copy: refused, not wrong. */
int main(int argc, char **argv) {
    chdir(argv[1]);
    char *m = mmap(0, 4096, PROT_READ, MAP_SHARED, open("seed", O_RDONLY), 0);
    putchar(m[0]); fflush(stdout);
    return open("seed", O_RDWR);
}
