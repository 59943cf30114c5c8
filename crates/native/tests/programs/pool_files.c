/* run: --pm-dir */
#define _GNU_SOURCE
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include "../support/hooks.h"
/* Several pools, through directory descriptors, in every way a file can be used. */
static void list(int dir) {
    DIR *d = fdopendir(dup(dir));
    rewinddir(d);
    for (struct dirent *e; (e = readdir(d));) printf(" %s%s", e->d_name, e->d_type == DT_DIR ? "/" : "");
    printf("\n");
    closedir(d);
}
int main(int argc, char **argv) {
    struct stat st;
    struct statx sx;
    int dir = open(argv[1], O_RDONLY | O_DIRECTORY);
    int a = openat(dir, "a", O_CREAT | O_EXCL | O_RDWR, 0600);
    assert(a >= 0 && openat(dir, "a", O_CREAT | O_EXCL | O_RDWR, 0600) < 0 && errno == EEXIST);
    assert(mkdirat(dir, "d", 0700) == 0 && mkdirat(dir, "d", 0700) < 0 && errno == EEXIST);
    assert(openat(dir, "no/b", O_CREAT | O_RDWR, 0600) < 0 && errno == ENOENT);
    int b = openat(dir, "d/b", O_CREAT | O_RDWR, 0600);
    assert(b >= 0 && fstatat(dir, "d", &st, 0) == 0 && S_ISDIR(st.st_mode));
    list(dir);
    /* descriptors: positions, appending, access modes, locks */
    assert(write(a, "0123456789", 10) == 10 && lseek(a, -4, SEEK_CUR) == 6);
    int append = openat(dir, "a", O_WRONLY | O_APPEND), reading = openat(dir, "a", O_RDONLY);
    struct iovec parts[2] = {{"ab", 2}, {"cd", 2}};
    assert(writev(append, parts, 2) == 4 && lseek(append, 0, SEEK_CUR) == 14);
    assert(write(reading, "x", 1) < 0 && errno == EBADF && ftruncate(reading, 0) < 0);
    char text[32] = {0};
    struct iovec into[2] = {{text, 4}, {text + 4, 20}};
    assert(preadv(reading, into, 2, 2) == 12 && strcmp(text, "23456789abcd") == 0);
    assert(flock(a, LOCK_EX | LOCK_NB) == 0 && flock(append, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK);
    assert(statx(dir, "a", 0, STATX_SIZE, &sx) == 0 && sx.stx_size == 14);
    /* mappings: two pools, one file twice, a longer one, no writable mapping of a file open for reading */
    assert(ftruncate(a, 8192) == 0 && ftruncate(b, 4096) == 0);
    uint64_t *pa = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, a, 0), *pb = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, b, 0);
    assert(pa != MAP_FAILED && pb != MAP_FAILED && mmap(0, 4096, PROT_READ, MAP_SHARED, reading, 4096) == pa + 512);
    assert(mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, reading, 0) == MAP_FAILED && errno == EACCES);
    assert(mremap(pa, 4096, 8192, MREMAP_MAYMOVE) == pa);
    __lf_store8(pa + 1, 1, 0, SITE);
    __lf_store8(pb, 2, 0, SITE);
    assert(msync(pa, 4096, MS_ASYNC) == 0 && msync((char *)pa + 8, 8, MS_SYNC) < 0 && errno == EINVAL && msync(pa, 4096, MS_SYNC) == 0);
    close(a); close(b);
    assert(pread(reading, text, 8, 8) == 8 && text[0] == 1);
    /* cutting off and growing again reads as zero, in the mapping too */
    char path[300];
    snprintf(path, sizeof path, "%s/a", argv[1]);
    assert(truncate(path, 12) == 0 && fstat(reading, &st) == 0 && st.st_size == 12);
    assert(truncate(path, 8192) == 0 && __lf_load8(pa + 1, 0, SITE) == 1);
    /* names: rename over another pool is one step; an unlinked pool lives on while it is mapped */
    assert(renameat(dir, "d/b", dir, "a") == 0 && fstatat(dir, "a", &st, 0) == 0 && st.st_size == 4096);
    assert(renameat2(dir, "a", dir, "c", RENAME_NOREPLACE) == 0 && faccessat(dir, "a", F_OK, 0) < 0);
    list(dir);
    assert(unlinkat(dir, "c", 0) == 0 && unlinkat(dir, "d", 0) < 0 && errno == EISDIR && unlinkat(dir, "d", AT_REMOVEDIR) == 0);
    __lf_store8(pb, 3, 0, SITE);
    int c = openat(dir, "c", O_CREAT | O_RDWR | O_TRUNC, 0600);
    assert(fstat(c, &st) == 0 && st.st_size == 0 && __lf_load8(pb, 0, SITE) == 3);
    list(dir);
    return 0;
}
