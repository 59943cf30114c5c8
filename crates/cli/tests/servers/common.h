/* A socket that listens at /tmp/s. */
#define _GNU_SOURCE
#include <errno.h>
#include <landfall.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static inline int listens(void) {
  struct sockaddr_un name = {AF_UNIX, "/tmp/s"};
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(fd, (struct sockaddr *)&name, sizeof name) || listen(fd, 5))
    exit(9);
  return fd;
}
