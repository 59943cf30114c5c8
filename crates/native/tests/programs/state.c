#define _GNU_SOURCE
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <getopt.h>
#include <fcntl.h>
/* Everything a run may leave behind in libc: it must be gone in the next one. */
static int calls; static char buffer[20000]; static char words[] = "a b c"; static __thread int local = 5;
static void at_exit(void) { printf("at exit %d\n", calls); }
int main(int argc, char **argv) {
    printf("%d %d %d %d %s %d %zu\n", calls++, rand() & 0xff, optind, errno, getenv("ADDED") ? "set" : "unset", local++, __fpending(stdout));
    setenv("ADDED", "1", 1); optind = 7; errno = 3; argv[0][0] = 'Z'; strtok(words, " "); printf("%s\n", words);
    setenv("TZ", "UTC+5", 1); tzset(); printf("%ld %s\n", timezone, setlocale(LC_ALL, 0));
    char *m = malloc(5000); printf("%d\n", m[4000]); memset(m, 9, 5000); buffer[8000]++; printf("%d\n", buffer[8000]);
    FILE *f = fopen("/etc/hostname", "r"); printf("%d\n", f ? fileno(f) : -1); char *s; asprintf(&s, "%d", 5); atexit(at_exit);
    int fd = open("/dev/null", O_RDONLY); printf("%d\n", fd); return 0;
}
