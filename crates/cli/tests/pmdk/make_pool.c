/* Makes a pool, as an ordinary program; not one that is there already. */
#include <fcntl.h>
#include <unistd.h>

int main(int count, char **arguments) {
  if (count != 2)
    return 2;
  int fd = open(arguments[1], O_CREAT | O_EXCL | O_RDWR, 0600);
  return fd < 0 || ftruncate(fd, 4096) != 0;
}
