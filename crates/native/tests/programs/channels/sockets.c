/* Names, connections, what is left of them when an end goes away, descriptors that share one; and waits that end. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static void say(const char *what, long got) { printf("%s: %s %ld\n", what, got < 0 ? strerrorname_np(errno) : "ok", got < 0 ? 0 : got); }

static int sigpipes;
static void on_pipe(int signal) { sigpipes += signal == SIGPIPE; }

static short ready(int fd) {
  struct pollfd one = {fd, POLLIN | POLLOUT | POLLRDHUP, 0};
  poll(&one, 1, 0);
  return one.revents;
}

static void named(void) {
  struct sockaddr_un name = {AF_UNIX, "named.sock"}, found;
  socklen_t length = sizeof found;
  int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
  say("listen without a name", listen(listening, 3));
  say("bind", bind(listening, (void *)&name, sizeof name));
  say("bind again", bind(listening, (void *)&name, sizeof name));
  int second = socket(AF_UNIX, SOCK_STREAM, 0);
  say("name is taken", bind(second, (void *)&name, sizeof name));
  say("nobody listens yet", connect(second, (void *)&name, sizeof name));
  say("listen", listen(listening, 3));
  say("accept nobody", accept(listening, NULL, NULL));
  say("readable", ready(listening));
  say("connect", connect(second, (void *)&name, sizeof name));
  say("connect again", connect(second, (void *)&name, sizeof name));
  say("readable", ready(listening));
  say("send before it is accepted", send(second, "early", 5, 0));
  int end = accept4(listening, (void *)&found, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
  say("accepted from a nameless one", length);
  char bytes[64];
  say("recv", recv(end, bytes, sizeof bytes, 0));
  say("recv nothing", recv(end, bytes, sizeof bytes, 0));
  length = sizeof found;
  say("getpeername", getpeername(second, (void *)&found, &length));
  printf("%s %u\n", found.sun_path, (unsigned)(found.sun_family));
  length = sizeof found;
  say("getsockname", getsockname(end, (void *)&found, &length));
  printf("%s\n", found.sun_path);
  say("nonblocking", (fcntl(end, F_GETFL) & O_NONBLOCK) != 0);
  say("close on exec", fcntl(end, F_GETFD));
  struct stat about;
  fstat(end, &about);
  say("is a socket", S_ISSOCK(about.st_mode));
  say("lseek", lseek(end, 0, SEEK_SET));
  struct iovec parts[2] = {{bytes, 2}, {bytes + 10, 3}};
  say("writev", writev(second, (struct iovec[]){{"ab", 2}, {"cdefg", 5}}, 2));
  say("readv", readv(end, parts, 2));
  printf("%.2s %.3s\n", bytes, bytes + 10);
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
  say("recvmsg", recvmsg(end, &message, 0));
  say("sendmsg", sendmsg(end, &(struct msghdr){.msg_iov = &(struct iovec){"xyz", 3}, .msg_iovlen = 1}, 0));
  int third = dup(second);
  say("close one of two", close(second));
  say("still open", recv(third, bytes, 1, MSG_PEEK));
  say("shutdown", shutdown(end, SHUT_WR));
  say("send after shutdown", send(end, "x", 1, MSG_NOSIGNAL));
  say("rest", read(third, bytes, sizeof bytes));
  say("end", read(third, bytes, sizeof bytes));
  say("the other way", write(third, "still", 5));
  say("close", close(end));
  say("ready", ready(third));
  say("write to nobody", write(third, "x", 1));
  say("signals", sigpipes);
  say("close", close(third));
  say("closed twice", close(third));
  say("close", close(listening));
  unlink("named.sock");
}

static void ports(void) {
  struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}}, found;
  socklen_t length = sizeof found;
  int listening = socket(AF_INET, SOCK_STREAM, 0), on = 1, value = -1;
  say("option", setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
  say("bind", bind(listening, (void *)&name, sizeof name));
  say("listen", listen(listening, 5));
  say("getsockname", getsockname(listening, (void *)&name, &length));
  say("a port", name.sin_port != 0);
  int near = socket(AF_INET, SOCK_STREAM, 0);
  say("option", setsockopt(near, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
  say("connect", connect(near, (void *)&name, sizeof name));
  int far = accept(listening, (void *)&found, &length);
  printf("%s %u\n", inet_ntoa(found.sin_addr), (unsigned)length);
  length = sizeof value;
  say("error", getsockopt(near, SOL_SOCKET, SO_ERROR, &value, &length));
  say("none", value);
  say("type", getsockopt(near, SOL_SOCKET, SO_TYPE, &value, &length));
  say("stream", value == SOCK_STREAM);
  say("send", send(near, "hello", 5, 0));
  char bytes[8];
  say("all of it", recv(far, bytes, 5, MSG_WAITALL));
  say("close", close(near));
  say("ready", ready(far) & (POLLIN | POLLRDHUP));
  say("end", recv(far, bytes, 5, 0));
  close(far), close(listening);
  near = socket(AF_INET, SOCK_STREAM, 0);
  say("refused", connect(near, (void *)&name, sizeof name));
  say("no peer", getpeername(near, (void *)&found, &length));
  say("not connected", recv(near, bytes, 1, 0));
  close(near);
}

static void waits(void) {
  struct timespec before, after;
  int set = epoll_create1(EPOLL_CLOEXEC), event = eventfd(0, 0);
  struct epoll_event in = {EPOLLIN, {.u64 = 7}}, out[4];
  say("add", epoll_ctl(set, EPOLL_CTL_ADD, event, &in));
  say("itself", epoll_ctl(set, EPOLL_CTL_ADD, set, &in));
  say("a file", epoll_ctl(set, EPOLL_CTL_ADD, open("/etc/passwd", O_RDONLY), &in));
  clock_gettime(CLOCK_MONOTONIC, &before);
  say("nothing comes", epoll_wait(set, out, 4, 30));
  clock_gettime(CLOCK_MONOTONIC, &after);
  long passed = (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000;
  say("time passed", passed >= 30);
  struct pollfd both[2] = {{event, POLLIN, 0}, {-1, POLLIN, 9}};
  say("poll", poll(both, 2, 10));
  say("ignored", both[1].revents);
  int outer = epoll_create1(0);
  say("a set in a set", epoll_ctl(outer, EPOLL_CTL_ADD, set, &in));
  unsigned long one = 3;
  say("write", write(event, &one, 8));
  say("outer", epoll_wait(outer, out, 4, -1));
  say("inner", epoll_wait(set, out, 4, -1));
  say("what", out[0].data.u64 == 7 && out[0].events == EPOLLIN);
  say("no room for none", epoll_wait(set, out, 0, -1));
  say("short", read(event, &one, 4));
  say("read", read(event, &one, 8));
  say("is", one);
  int ends[2];
  say("pipe", pipe2(ends, O_NONBLOCK));
  static char much[100000];
  say("as much as fits", write(ends[1], much, sizeof much));
  say("full", write(ends[1], much, 1));
  say("ready", ready(ends[1]));
  say("read", read(ends[0], much, 5000));
  say("some room", write(ends[1], much, 4096));
  say("writer", read(ends[1], much, 1));
  say("reader", write(ends[0], much, 1));
  close(ends[0]);
  say("broken", write(ends[1], much, 1));
  say("signals", sigpipes);
  say("bad", epoll_ctl(set, EPOLL_CTL_ADD, 999, &in));
  say("no set", epoll_wait(ends[1], out, 4, 0));
  close(event), close(set), close(outer), close(ends[1]);
}

int main(void) {
  struct sigaction action = {.sa_handler = on_pipe};
  sigaction(SIGPIPE, &action, NULL);
  named();
  ports();
  waits();
  return 0;
}
