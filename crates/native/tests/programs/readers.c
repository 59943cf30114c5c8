/* run: --stdin 7_word */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "../support/hooks.h"
/* Functions of libc that take texts apart, and what they leave in persistent memory. */
static int order(const void *a, const void *b) { return *(const char *)a - *(const char *)b; }
int main(void) {
    char *p = lf_pm(8192), *end, text[32] = "5 1 xyz", **keep = (char **)(p + 1024);
    printf("%d %ld %lld %.0f\n", atoi(p), atol(p + 8), atoll(p + 16), atof(p + 24));
    strcpy(p + 32, " 42 "); printf("%ld %lu ", strtol(p + 32, &end, 10), strtoul(p + 36, 0, 0)); printf("%d\n", (int)(end - p));
    printf("%.1f %.1f\n", strtod(p + 40, (char **)(p + 48)), strtof(p + 56, 0));
    printf("%d %d\n", strcasecmp(p + 64, "A"), strncasecmp(p + 72, p + 80, 3));
    printf("%zu %zu %d\n", strspn(p + 88, "a"), strcspn(p + 96, "a"), strpbrk(p + 104, "a") == 0);
    strcpy(p + 128, "a,b"); puts(strtok(p + 128, ",")); puts(strtok(NULL, ",")); printf("%d\n", strtok(NULL, ",") == 0);
    strcpy(p + 136, "c;d"); puts(strtok_r(p + 136, ";", keep)); puts(strtok_r(NULL, ";", keep));
    strcpy(p + 144, "e:f"); end = p + 144; puts(strsep(&end, ":")); puts(end);
    memccpy(p + 160, "ab;c", ';', 8); printf("%zd\n", stpncpy(p + 176, "ab", 4) - (p + 176));
    printf("%d %d\n", memrchr(p + 192, 0, 4) == p + 195, memmem(p + 200, 8, "\0\0", 2) == p + 200);
    swab("badc", p + 208, 4); strcpy(p + 216, "dcab"); qsort(p + 216, 4, 1, order); puts(p + 216);
    printf("%d\n", inet_pton(AF_INET, "1.2.3.4", p + 224));
    printf("%d\n", sscanf(text, "%d %hd%n %2s %d", (int *)(p + 256), (short *)(p + 264), (int *)(p + 272), p + 280, (int *)(p + 288)));
    printf("%d\n", sscanf(p + 296, "%d", (int *)(p + 304)));
    printf("%d\n", scanf("%d_%[a-z]", (int *)(p + 320), p + 328));
    end = (char *)8; printf("%d", (int)write(1, end, 5)); printf(" %d\n", errno == EFAULT); return 0;
}
