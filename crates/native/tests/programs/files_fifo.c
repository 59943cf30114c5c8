#include <sys/stat.h>
int main(void) { return mkfifo("/tmp/landfall-test-fifo", 0600); }
