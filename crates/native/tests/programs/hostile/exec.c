#include <unistd.h>
int main(void) { execl("/bin/true", "true", (char *)0); return 1; }
