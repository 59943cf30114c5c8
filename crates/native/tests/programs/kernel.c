#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "../support/hooks.h"
/* Pointers into persistent memory handed to the kernel: paths, structures it reads, structures it fills. */
int main(void) {
    char *p = lf_pm(16384);
    strcpy(p, "/");
    printf("%d\n", access(p, R_OK));
    struct iovec *parts = (struct iovec *)(p + 64);
    strcpy(p + 32, "!\n");
    parts[0] = (struct iovec){p, 1}, parts[1] = (struct iovec){p + 32, 2};
    printf("%zd\n", writev(1, parts, 2));
    printf("%d\n", uname((struct utsname *)(p + 4000)));
    printf("%zd\n", readlink("/landfall/nowhere", p + 8192, 8));
    int pair[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    printf("%zd ", send(pair[0], p + 8128, 100, 0));
    printf("%zd\n", recv(pair[1], p + 12288, 100, 0));
    return 0;
}
