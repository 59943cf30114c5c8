#include <fcntl.h>
#include <unistd.h>
int main(void) { static char b[1 << 20]; int fd = open("/tmp/landfall-hostile-fill", O_CREAT | O_WRONLY | O_TRUNC, 0600); unlink("/tmp/landfall-hostile-fill"); for (;;) write(fd, b, sizeof b); }
