#include <dirent.h>
#include <stdio.h>
#include <string.h>
/* Names come sorted, also after rewinding. */
int main(void) {
    DIR *d = opendir("/proc/self/attr"); struct dirent *e; char last[256] = ""; int sorted = 1, n = 0, again = 0;
    if (!d) return 1;
    while ((e = readdir(d))) { if (strcmp(last, e->d_name) >= 0) sorted = 0; strcpy(last, e->d_name); n++; }
    rewinddir(d); while (readdir(d)) again++;
    closedir(d); printf("%d %d %d\n", sorted, n > 2, n == again); return 0;
}
