#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>
#include "../support/hooks.h"
/* Everything a program can ask the machine and gets another answer to every time, unless somebody sees to it. */
static uint64_t *p;
static void keep(const void *from, int n) { for (int i = 0; i < n; i += 8) __lf_store8(p++, *(const uint64_t *)((const char *)from + i), 0, SITE); }
static void file(const char *path) {
    char text[256] = {0};
    int fd = open(path, O_RDONLY);
    int n = read(fd, text, 255);
    printf("%s: %.*s\n", path, (int)strcspn(text, "\n"), text);
    close(fd);
}
int main(void) {
    p = lf_pm(4096);
    uint64_t b[8];
    struct timespec t;
    struct stat st;
    struct rusage u;
    keep((void *)getauxval(AT_RANDOM), 16);
    getrandom(b, 16, 0); keep(b, 16);
    clock_gettime(CLOCK_MONOTONIC, &t); keep(&t, 16);
    b[0] = __rdtsc(); unsigned cpu; b[1] = __rdtscp(&cpu); b[2] = cpu; keep(b, 24);
    stat("/proc/self/stat", &st); b[0] = st.st_ino; b[1] = st.st_mtime; b[2] = st.st_atime; keep(b, 24);
    fstat(2, &st); b[0] = st.st_ino; b[1] = st.st_mtime; keep(b, 16);
    getrusage(0, &u); b[0] = u.ru_minflt; b[1] = getpid(); b[2] = sysconf(_SC_AVPHYS_PAGES); b[3] = sched_getcpu(); keep(b, 32);
    struct statvfs fs; statvfs("/tmp", &fs); b[0] = fs.f_bfree; keep(b, 8);
    FILE *f = fopen("/dev/urandom", "r"); fread(b, 8, 1, f); keep(b, 8);
    b[0] = rand(); b[1] = (uint64_t)&b; b[2] = (uint64_t)malloc(10); keep(b, 24);
    file("/proc/uptime"); file("/proc/loadavg"); file("/proc/self/stat"); file("/proc/self/status"); file("/proc/1000/comm");
    file("/proc/sys/kernel/random/uuid"); file("/proc/cpuinfo"); file("/proc/meminfo");
    char link[64] = {0}; readlink("/proc/self", link, 63); printf("self %s\n", link);
    return 0;
}
