/* run: --seeded */
#define _GNU_SOURCE
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../support/hooks.h"
/* Run in a directory of its own that holds `seed` ("seed\n"), `sub/inner` and `to_seed` -> seed. Whatever happens here must not
   be there in the next run, nor on disk: everything is asserted from a fresh state. */
static void list(const char *path) {
    struct dirent **all;
    int n = scandir(path, &all, 0, 0);
    printf("%s:", path);
    for (int i = 0; i < n; i++) printf(" %s", all[i]->d_name);
    printf("\n");
}
static const char *contents(const char *path) {
    static char b[256];
    int fd = open(path, O_RDONLY);
    if (fd < 0) return strerror(errno);
    int n = read(fd, b, 255);
    b[n > 0 ? n : 0] = 0;
    close(fd);
    return b;
}
int main(int argc, char **argv) {
    struct stat st, other;
    assert(chdir(argv[1]) == 0);
    /* creation is exclusive once per run, not once for ever */
    int fd = open("lock", O_CREAT | O_EXCL | O_RDWR, 0640);
    assert(fd >= 0 && open("lock", O_CREAT | O_EXCL | O_RDWR, 0640) < 0 && errno == EEXIST);
    assert(fstat(fd, &st) == 0 && st.st_size == 0 && (st.st_mode & 0777) == 0640 && S_ISREG(st.st_mode));
    assert(write(fd, "one", 3) == 3 && stat("lock", &st) == 0 && st.st_size == 3);
    /* appending, reopening, truncating, seeking */
    int more = open("./lock", O_WRONLY | O_APPEND);
    assert(write(more, "two", 3) == 3 && lseek(fd, 0, SEEK_CUR) == 3);
    printf("%s\n", contents("lock"));
    assert(ftruncate(fd, 1) == 0 && truncate("lock", 2) == 0 && stat("lock", &st) == 0 && st.st_size == 2);
    /* a file on disk is copied before it is changed; descriptors already reading it see the change */
    int reader = open("seed", O_RDONLY), writer = open("seed", O_RDWR);
    char b[16] = {0};
    assert(pwrite(writer, "SE", 2, 0) == 2 && pread(reader, b, 4, 0) == 4);
    printf("%s %s", b, contents("seed"));
    assert(stat("to_seed", &st) == 0 && lstat("to_seed", &other) == 0 && S_ISREG(st.st_mode) && S_ISLNK(other.st_mode));
    printf("%s", contents("to_seed"));
    /* a shared mapping writes the copy */
    char *m = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, writer, 0);
    m[2] = 'X';
    printf("%s", contents("seed"));
    /* names */
    assert(rename("seed", "moved") == 0 && access("seed", F_OK) < 0 && errno == ENOENT);
    assert(link("moved", "hard") == 0 && stat("hard", &st) == 0 && st.st_nlink == 2);
    assert(unlink("moved") == 0 && stat("hard", &st) == 0 && st.st_nlink == 1);
    assert(symlink("hard", "soft") == 0 && readlink("soft", b, 16) == 4);
    printf("%s", contents("soft"));
    /* directories */
    assert(mkdir("new", 0777) == 0 && mkdir("new", 0777) < 0 && errno == EEXIST);
    int dir = open("new", O_RDONLY | O_DIRECTORY);
    int in = openat(dir, "in", O_CREAT | O_WRONLY, 0600);
    assert(dir >= 0 && in >= 0 && write(in, "in", 2) == 2 && fstatat(dir, "in", &st, 0) == 0 && st.st_size == 2);
    assert(rmdir("new") < 0 && errno == ENOTEMPTY && rename("new", "newer") == 0);
    assert(renameat(dir, "in", AT_FDCWD, "out") == 0 && unlinkat(dir, "in", 0) < 0 && errno == ENOENT);
    assert(rmdir("newer") == 0 && access("newer", F_OK) < 0);
    assert(rmdir("sub") < 0 && errno == ENOTEMPTY && unlink("sub/inner") == 0);
    list("sub");
    assert(rmdir("sub") == 0 && open("sub/inner", O_RDONLY) < 0 && errno == ENOENT);
    assert(mkdir("sub", 0700) == 0);
    list(".");
    assert(chdir("sub") == 0 && strcmp(contents("../out"), "in") == 0);
    char cwd[4096];
    assert(getcwd(cwd, sizeof cwd) && strcmp(strrchr(cwd, '/'), "/sub") == 0);
    /* an unlinked open file lives on; locks are between descriptors; statx agrees with stat */
    int gone = open("../out", O_RDWR);
    assert(unlink("../out") == 0 && read(gone, b, 2) == 2 && fstat(gone, &st) == 0 && st.st_nlink == 0);
    int first = open("../lock", O_RDWR), second = open("../lock", O_RDWR);
    assert(flock(first, LOCK_EX | LOCK_NB) == 0 && flock(second, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK);
    struct statx sx;
    assert(statx(AT_FDCWD, "../lock", 0, STATX_BASIC_STATS, &sx) == 0 && sx.stx_size == 2);
    /* stdio, temporary files, copying in the kernel, sendfile to captured output */
    FILE *f = fopen("log", "w");
    fprintf(f, "line %d\n", 1);
    fclose(f);
    char name[] = "tmp.XXXXXX";
    int temporary = mkstemp(name);
    assert(temporary >= 0 && tmpfile());
    int from = open("log", O_RDONLY);
    assert(copy_file_range(from, 0, temporary, 0, 4, 0) == 4 && lseek(temporary, 0, SEEK_SET) == 0 && read(temporary, b, 16) == 4);
    fflush(stdout);
    assert(lseek(from, 0, SEEK_SET) == 0 && sendfile(1, from, 0, 100) == 7);
    /* what the user may not write stays so; bad pointers and bad descriptors fail as ever */
    assert(open("/proc/version", O_RDONLY) >= 0);
    assert(open((char *)8, O_RDONLY) < 0 && errno == EFAULT && stat("/", (void *)8) < 0 && errno == EFAULT);
    assert(write(1, (void *)8, 8) < 0 && errno == EFAULT && pread(from, (void *)8, 8, 0) < 0 && errno == EFAULT);
    assert(close(1500) < 0 && errno == EBADF && dup2(from, 1500) < 0);
    uint64_t *p = lf_pm(4096);
    assert(lseek(from, 0, SEEK_SET) == 0 && read(from, p, 7) == 7 && readlink("../soft", (char *)(p + 64), 64) == 4);
    return (int)__lf_load8(p, 0, SITE) & 127;
}
