#include <stdio.h>
#include <wchar.h>
#include "../support/hooks.h"
/* Wide texts in persistent memory, and formats that number their arguments. */
int main(void) {
    char *p = lf_pm(8192);
    wchar_t *w = (wchar_t *)p;
    wcscpy(w, L"ab"), wcscat(w, L"c"), wcsncpy(w + 8, L"d", 3);
    printf("%zu %zu %d %d\n", wcslen(w), wcsnlen(w + 16, 4), wcscmp(w, L"abd"), wcsncmp(w, w + 24, 1));
    printf("%d %d\n", wcschr(w, L'c') == w + 2, wmemchr(w + 32, L'x', 2) == 0);
    wmemset(w + 40, L'z', 2), wmemcpy(w + 48, w + 40, 3), printf("%d\n", wmemcmp(w + 56, L"", 1));
    printf("%ls|%.2ls|%S\n", w, w + 64, w + 72);
    printf("%2$s %1$d %3$.*4$s %5$.1f %6$s\n", 5, p + 320, p + 384, 1, 2.5, p + 448);
    printf("%s %Lf %s %*d %s\n", p + 512, 1.0L, p + 576, 3, 4, p + 640);
    char text[64];
    snprintf(text, sizeof text, "%1$s%1$s", p + 704);
    return 0;
}
