#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>
#include <sys/utsname.h>
#include <x86intrin.h>
int main(void) {
    struct timespec t; struct timeval v; unsigned r = 0, q = 0; struct utsname u;
    clock_gettime(CLOCK_REALTIME, &t); printf("%ld.%09ld\n", (long)t.tv_sec, t.tv_nsec);
    sleep(100); usleep(5); gettimeofday(&v, 0); printf("%ld.%06ld %ld\n", (long)v.tv_sec, (long)v.tv_usec, (long)time(0));
    clock_gettime(CLOCK_MONOTONIC, &t); printf("%ld.%09ld\n", (long)t.tv_sec, t.tv_nsec);
    getrandom(&r, 4, 0); int fd = open("/dev/urandom", O_RDONLY); read(fd, &q, 4); close(fd);
    uname(&u);
    printf("%u %u %d %d %d %s %llu %u\n", r, q, rand(), getpid(), getppid(), u.nodename, (unsigned long long)__rdtsc(), arc4random());
    return 0;
}
