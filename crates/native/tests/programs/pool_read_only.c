/* run: --pm-dir */
#include <assert.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../support/hooks.h"
static sigjmp_buf back;
static void caught(int signal) { siglongjmp(back, signal); }
/* A mapping for reading: a store faults and did not happen; writing through a descriptor is fine. */
int main(int argc, char **argv) {
    char path[300];
    snprintf(path, sizeof path, "%s/pool", argv[1]);
    int fd = open(path, O_CREAT | O_RDWR, 0600);
    assert(ftruncate(fd, 4096) == 0);
    uint64_t *p = mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0);
    uint64_t value = 5;
    assert(__lf_load8(p, 0, SITE) == 0 && pwrite(fd, &value, 8, 0) == 8 && __lf_load8(p, 0, SITE) == 5);
    signal(SIGSEGV, caught);
    int got = sigsetjmp(back, 1);
    if (!got) __lf_store8(p, 6, 0, SITE);
    printf("signal %d, value %lu\n", got, (unsigned long)__lf_load8(p, 0, SITE)); fflush(stdout);
    assert(mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == p);
    __lf_store8(p, 7, 0, SITE);
    assert(mprotect(p, 4096, PROT_READ) == 0);
    signal(SIGSEGV, SIG_DFL);
    __lf_store8(p, 8, 0, SITE);
    return 0;
}
