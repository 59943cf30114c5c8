// Threads that meet in pipes, sockets, events and sets: calls on them are steps, and whoever finds nothing waits.
// check: --checks crash,data-races,locks -DBODY=sums -DN=2
// exit: 0
// check: --checks crash,data-races,locks -DBODY=sums -DN=2 --model sc
// exit: 0
// check: --checks crash -DBODY=orders -DCAN=0
// exit: 0
// check: --checks crash -DBODY=orders -DCAN=c[0]=='b'&&c[1]=='c'
// exit: 100
// finds: assertion
// check: --checks crash -DBODY=orders -DCAN=c[0]=='c'&&c[1]=='a'
// exit: 100
// finds: assertion
// check: --checks crash -DBODY=orders -DCAN=c[0]==c[1]
// exit: 0
// check: --checks data-races -DBODY=races
// exit: 100
// finds: data-race `shared`
// check: --checks data-races -DBODY=hands_over
// exit: 0
// check: --checks crash -DBODY=nobody_writes
// exit: 100
// finds: deadlock
// note: waits for a signal of `a pipe or socket`
// check: --checks crash -DBODY=takes_ones
// exit: 0
// check: --checks crash -DBODY=takes_all
// exit: 100
// finds: deadlock
// check: --checks crash -DBODY=wakes_by_set
// exit: 0
// check: --checks crash -DBODY=polls_forever
// exit: 0
// check: --checks crash -DBODY=polls_a_while
// exit: 100
// finds: assertion `got == 1` is false
// check: --checks crash -DBODY=fills
// exit: 0
// check: --checks crash -DBODY=accepts
// exit: 0
// check: --checks crash -DBODY=closes
// exit: 0
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#ifndef N
#define N 1
#endif
#ifndef CAN
#define CAN 0
#endif

static int ends[2], event, set, shared, listening;
static char c[3];

static void *start(pthread_t *thread, void *(*body)(void *), void *with) {
  pthread_create(thread, NULL, body, with);
  return thread;
}

static void *reads(void *unused) {
  char byte;
  while (read(ends[0], &byte, 1) == 1)
    shared += byte;
  return unused;
}
static void sums(void) {
  pthread_t reader;
  start(&reader, reads, NULL);
  for (char byte = 1; byte <= N; byte++)
    write(ends[1], &byte, 1);
  close(ends[1]);
  pthread_join(reader, NULL);
  assert(shared == N * (N + 1) / 2);
}

static void *writes(void *text) {
  write(ends[1], text, 1);
  return NULL;
}
static void orders(void) {
  pthread_t one, two;
  start(&one, writes, "a"), start(&two, writes, "b");
  writes("c");
  pthread_join(one, NULL), pthread_join(two, NULL);
  assert(read(ends[0], c, 3) == 3);
  assert(!(CAN));
}

static void *writes_late(void *unused) {
  write(ends[1], "x", 1);
  shared = 1;
  return unused;
}
static void races(void) {
  pthread_t writer;
  char byte;
  start(&writer, writes_late, NULL);
  read(ends[0], &byte, 1);
  shared++;
  pthread_join(writer, NULL);
}

static void *writes_early(void *unused) {
  shared = 1;
  write(ends[1], "x", 1);
  return unused;
}
static void hands_over(void) {
  pthread_t writer;
  char byte;
  start(&writer, writes_early, NULL);
  read(ends[0], &byte, 1);
  shared++;
  pthread_join(writer, NULL);
}

static void nobody_writes(void) {
  pthread_t reader;
  start(&reader, reads, NULL);
  pthread_join(reader, NULL);
}

static void *takes(void *unused) {
  unsigned long one;
  assert(read(event, &one, 8) == 8);
  return unused;
}
static void two_take(int flags) {
  pthread_t a, b;
  unsigned long two = 2;
  event = eventfd(0, flags);
  start(&a, takes, NULL), start(&b, takes, NULL);
  write(event, &two, 8);
  pthread_join(a, NULL), pthread_join(b, NULL);
}
static void takes_ones(void) { two_take(EFD_SEMAPHORE); }
static void takes_all(void) { two_take(0); }

static void *waits_for_set(void *unused) {
  struct epoll_event ready;
  char byte;
  assert(epoll_wait(set, &ready, 1, -1) == 1 && read(ready.data.fd, &byte, 1) == 1);
  return unused;
}
static void wakes_by_set(void) {
  pthread_t waiter;
  struct epoll_event event = {EPOLLIN | EPOLLET, {.fd = ends[0]}};
  set = epoll_create1(0);
  epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);
  start(&waiter, waits_for_set, NULL);
  write(ends[1], "x", 1);
  pthread_join(waiter, NULL);
}

static void polls(int timeout) {
  pthread_t writer;
  struct pollfd entry = {ends[0], POLLIN, 0};
  start(&writer, writes, "x");
  int got = poll(&entry, 1, timeout);
  assert(got == 1);
  pthread_join(writer, NULL);
}
static void polls_forever(void) { polls(-1); }
static void polls_a_while(void) { polls(10); }

static void *empties(void *unused) {
  static char all[40000];
  long left = 80000;
  while (left > 0)
    left -= read(ends[0], all, sizeof all);
  assert(left == 0);
  return unused;
}
static void fills(void) {
  static char much[80000];
  pthread_t reader;
  start(&reader, empties, NULL);
  assert(write(ends[1], much, sizeof much) == sizeof much);
  pthread_join(reader, NULL);
}

static void *connects(void *unused) {
  struct sockaddr_un name = {AF_UNIX, "/tmp/of-threads"};
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  char byte;
  assert(connect(fd, (struct sockaddr *)&name, sizeof name) == 0);
  assert(write(fd, "?", 1) == 1 && read(fd, &byte, 1) == 1 && byte == '!');
  close(fd);
  return unused;
}
static void accepts(void) {
  pthread_t client;
  struct sockaddr_un name = {AF_UNIX, "/tmp/of-threads"};
  listening = socket(AF_UNIX, SOCK_STREAM, 0);
  assert(bind(listening, (struct sockaddr *)&name, sizeof name) == 0 && listen(listening, 1) == 0);
  start(&client, connects, NULL);
  int fd = accept(listening, NULL, NULL);
  char byte;
  assert(fd >= 0 && read(fd, &byte, 1) == 1 && byte == '?' && write(fd, "!", 1) == 1 && read(fd, &byte, 1) == 0);
  pthread_join(client, NULL);
}

static void *closes_end(void *unused) {
  close(ends[0]);
  return unused;
}
static void closes(void) {
  pthread_t other;
  signal(SIGPIPE, SIG_IGN);
  start(&other, closes_end, NULL);
  long got = write(ends[1], "x", 1);
  assert(got == 1 || got == -1);
  pthread_join(other, NULL);
  assert(write(ends[1], "x", 1) == -1);
}

int main(void) {
  assert(pipe(ends) == 0);
  BODY();
  return 0;
}
