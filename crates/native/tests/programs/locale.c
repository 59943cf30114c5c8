#include <locale.h>
#include <stdio.h>
/* Maps files: not restored in place, so this one runs in forks. */
int main(void) { puts(setlocale(LC_ALL, 0)); puts(setlocale(LC_ALL, "C.UTF-8") ? "changed" : "missing"); return 0; }
