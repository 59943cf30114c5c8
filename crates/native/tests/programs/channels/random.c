/* Pipes, pairs of sockets and events, and an epoll set, under random operations that never wait: what each call returns, and what poll
 * says of everything after it. The kernel's answers are the definition. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#define SLOTS 10

static uint64_t state;
static unsigned dice(unsigned most) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (unsigned)(state >> 20) % most;
}

static int fds[SLOTS];

static int slot(void) {
  for (int tries = 0; tries < 20; tries++) {
    int at = (int)dice(SLOTS);
    if (fds[at] < 0)
      return at;
  }
  return -1;
}

static int some(void) { return fds[dice(SLOTS)]; }

static const char *result(long got) {
  static char text[32];
  if (got < 0)
    return strerrorname_np(errno);
  snprintf(text, sizeof text, "%ld", got);
  return text;
}

static void look(int epoll) {
  struct pollfd all[SLOTS];
  for (int i = 0; i < SLOTS; i++)
    all[i] = (struct pollfd){fds[i], POLLIN | POLLOUT | POLLRDHUP, 0};
  printf(" poll %d:", poll(all, SLOTS, 0));
  for (int i = 0; i < SLOTS; i++)
    if (fds[i] >= 0)
      printf(" %d=%x", fds[i], all[i].revents);
  fd_set in, out;
  FD_ZERO(&in);
  FD_ZERO(&out);
  int most = 0;
  for (int i = 0; i < SLOTS; i++)
    if (fds[i] >= 0) {
      FD_SET(fds[i], &in), FD_SET(fds[i], &out);
      most = fds[i] >= most ? fds[i] + 1 : most;
    }
  struct timeval now = {0, 0};
  printf(" select %d:", select(most, &in, &out, NULL, &now));
  for (int fd = 0; fd < most; fd++)
    if (FD_ISSET(fd, &in) || FD_ISSET(fd, &out))
      printf(" %d%s%s", fd, FD_ISSET(fd, &in) ? "r" : "", FD_ISSET(fd, &out) ? "w" : "");
  if (dice(3) == 0) {
    struct epoll_event events[64];
    int count = epoll_wait(epoll, events, 64, 0);
    printf(" epoll %d:", count);
    /* In an order that nobody promises. */
    for (uint64_t data = 0; data < 64; data++)
      for (int i = 0; i < count; i++)
        if (events[i].data.u64 == data)
          printf(" %d=%x", (int)data, events[i].events);
  }
  putchar('\n');
}

static void act(int epoll) {
  static char bytes[4096];
  int fd = some(), at, ends[2];
  switch (dice(16)) {
  case 0:
    if ((at = slot()) < 0)
      break;
    if (pipe2(ends, O_NONBLOCK) == 0) {
      printf("pipe %d %d", ends[0], ends[1]);
      fds[at] = ends[0];
      if ((at = slot()) >= 0)
        fds[at] = ends[1];
      else
        close(ends[1]);
    }
    break;
  case 1:
    if ((at = slot()) < 0)
      break;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0) {
      printf("pair %d %d", ends[0], ends[1]);
      fds[at] = ends[0];
      if ((at = slot()) >= 0)
        fds[at] = ends[1];
      else
        close(ends[1]);
    }
    break;
  case 2:
    if ((at = slot()) < 0)
      break;
    fds[at] = eventfd(dice(3), EFD_NONBLOCK | (dice(2) ? EFD_SEMAPHORE : 0));
    printf("event %d", fds[at]);
    break;
  case 3:
    if (fd >= 0 && (at = slot()) >= 0) {
      fds[at] = dup(fd);
      printf("dup %d %d", fd, fds[at]);
    }
    break;
  case 4:
    at = (int)dice(SLOTS);
    if (fds[at] >= 0) {
      printf("close %d %s", fds[at], result(close(fds[at])));
      fds[at] = -1;
    }
    break;
  case 5:
    printf("shutdown %d %s", fd, result(shutdown(fd, (int)dice(3))));
    break;
  case 6:
  case 7:
  case 8: {
    size_t length = dice(9); /* more is an error for events, or not, as kernels go */
    memset(bytes, 'a' + (int)dice(26), sizeof bytes);
    if (dice(8) == 0)
      memset(bytes, 0, 8);
    uint64_t one = dice(3);
    if (dice(2))
      memcpy(bytes, &one, 8);
    long got = write(fd, bytes, length);
    printf("write %d %zu %s", fd, length, result(got));
    break;
  }
  case 9:
  case 10: {
    size_t length = 1 + dice(40);
    memset(bytes, '.', sizeof bytes);
    long got = read(fd, bytes, length);
    printf("read %d %zu %s", fd, length, result(got));
    for (long i = 0; i < got; i++)
      printf("%02x", bytes[i]);
    break;
  }
  case 11: {
    long got = recv(fd, bytes, dice(9), MSG_PEEK | MSG_DONTWAIT);
    printf("peek %d %s", fd, result(got));
    break;
  }
  case 12: {
    int there = -1;
    long got = ioctl(fd, FIONREAD, &there);
    printf("there %d %s %d", fd, result(got), got < 0 ? 0 : there);
    break;
  }
  case 13: {
    struct epoll_event event = {EPOLLIN | (dice(2) ? EPOLLRDHUP : 0), {0}};
    if (dice(3) == 0)
      event.events |= EPOLLET;
    else if (dice(2))
      event.events |= EPOLLOUT;
    if (dice(4) == 0)
      event.events |= EPOLLONESHOT;
    event.data.u64 = fd < 0 ? 63 : (uint64_t)fd;
    printf("add %d %x %s", fd, event.events, result(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)));
    break;
  }
  case 14: {
    struct epoll_event event = {EPOLLIN | (dice(2) ? EPOLLONESHOT : EPOLLOUT), {.u64 = fd < 0 ? 63 : (uint64_t)fd}};
    printf("change %d %x %s", fd, event.events, result(epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event)));
    break;
  }
  default:
    printf("remove %d %s", fd, result(epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL)));
  }
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  for (unsigned seed = 1; seed <= 30; seed++) {
    state = seed * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < SLOTS; i++)
      fds[i] = -1;
    int epoll = epoll_create1(0);
    printf("-- %u\n", seed);
    for (int step = 0; step < 150; step++) {
      act(epoll);
      look(epoll);
    }
    for (int i = 0; i < SLOTS; i++)
      if (fds[i] >= 0)
        close(fds[i]);
    close(epoll);
  }
  return 0;
}
