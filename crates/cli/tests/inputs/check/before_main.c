#include <stdlib.h>

__attribute__((constructor)) static void early(void) { abort(); }

int main(void) { return 0; }
