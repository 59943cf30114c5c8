#include <stdlib.h>
int main(void) { return system("echo escaped > /dev/null"); }
