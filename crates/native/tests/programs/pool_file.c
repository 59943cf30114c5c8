/* run: --pm-dir */
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <errno.h>
#include "../support/hooks.h"
/* Run with --pm-dir: creates, maps twice, truncates, reopens, renames, unlinks. */
int main(int argc, char **argv) {
    char path[300], other[300];
    snprintf(path, sizeof path, "%s/pool", argv[1]);
    snprintf(other, sizeof other, "%s/./x/../other", argv[1]);
    struct stat st;
    int fresh = access(path, F_OK) != 0;
    printf("fresh %d\n", fresh);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert(fd >= 0);
    if (fresh) assert(ftruncate(fd, 8192) == 0);
    assert(fstat(fd, &st) == 0); printf("size %ld\n", (long)st.st_size);
    uint64_t *a = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    uint64_t *b = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
    assert(a != MAP_FAILED && b == a + 512);
    close(fd);
    printf("first %lu\n", (unsigned long)__lf_load8(a, 0, SITE));
    __lf_store8(a, 11, 0, SITE); msync(a, 4096, MS_SYNC);
    __lf_store8(b, 12, 0, SITE);
    munmap(b, 4096);
    fd = open(path, O_RDWR); uint64_t v = 0; assert(pread(fd, &v, 8, 4096) == 8); printf("read back %lu\n", (unsigned long)v);
    assert(write(fd, "hello", 5) == 5); fsync(fd);
    assert(posix_fallocate(fd, 0, 16384) == 0); assert(stat(path, &st) == 0); printf("grown %ld\n", (long)st.st_size);
    assert(lseek(fd, 0, SEEK_END) == 16384);
    close(fd);
    assert(rename(path, other) == 0 && access(path, F_OK) != 0 && errno == ENOENT);
    assert(open(other, O_RDWR | O_CREAT | O_EXCL, 0600) < 0 && errno == EEXIST);
    assert(unlink(other) == 0 && open(other, O_RDONLY) < 0);
    return 0;
}
