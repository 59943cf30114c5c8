/* run: --stdin abcdefgh */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
#include <sys/uio.h>
#include "../support/hooks.h"
/* libc functions on persistent memory. */
int main(void) {
    char *p = lf_pm(8192), *d; char volatile_[64] = "volatile";
    strcpy(p, "one"); strcat(p, " two"); strncpy(p + 64, "three", 8); memcpy(p + 128, volatile_, 20); memmove(p + 130, p + 128, 10);
    printf("%s %.2s %zu %d %d\n", p, p + 64, strlen(p + 200), strcmp(p, "one two"), memcmp(p + 300, p + 310, 4));
    snprintf(p + 400, 20, "%d %s %5.1f", 42, "text", 2.5); sprintf(p + 440, "%c", 'x');
    read(0, p + 500, 3); struct iovec v[2] = {{p + 510, 2}, {volatile_, 2}}; readv(0, v, 2);
    FILE *f = fmemopen("line one\nline two\n", 18, "r"); fgets(p + 600, 32, f); fread(p + 640, 1, 8, f); fclose(f);
    d = strdup(p); puts(d); write(1, p, 4); fwrite(p + 700, 1, 3, stdout); puts("");
    free(d); return strchr(p, 'w') - p;
}
