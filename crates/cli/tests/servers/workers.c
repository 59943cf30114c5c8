// flags --recover-schedules --checks crash
// exit 0
// says clean: every
// says assumed: the client acts when a thread of the server waits
/* client
connect unix:/tmp/counter
send "+"
expect-line "ok"
acked increment

recovery:
connect unix:/tmp/counter
send "?"
if acked increment
  expect-line "1"
else
  expect-line "0" or "1"
end
*/
#define _GNU_SOURCE
#include <landfall.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#ifndef WORKERS
#define WORKERS 1
#endif
static char *count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct worker { int wake, set, queue[8], head, tail; pthread_mutex_t lock; pthread_t thread; } workers[WORKERS];
static void request(int fd, char c) {
  if (c == '+') {
    pthread_mutex_lock(&lock);
    *count += 1;
#ifdef EARLY
    write(fd, "ok\n", 3);
#endif
    lf_persist(count, 1);
    pthread_mutex_unlock(&lock);
#ifndef EARLY
    write(fd, "ok\n", 3);
#endif
  } else {
    pthread_mutex_lock(&lock);
    char answer[] = {(char)('0' + *count), '\n'};
    pthread_mutex_unlock(&lock);
    write(fd, answer, 2);
  }
}
static void *work(void *p) {
  struct worker *me = p;
  struct epoll_event e, add = {EPOLLIN, {.fd = me->wake}};
  epoll_ctl(me->set, EPOLL_CTL_ADD, me->wake, &add);
  for (;;) {
    if (epoll_wait(me->set, &e, 1, -1) != 1) continue;
    if (e.data.fd == me->wake) {
      unsigned long n;
      read(me->wake, &n, 8);
      pthread_mutex_lock(&me->lock);
      while (me->head < me->tail) {
        struct epoll_event conn = {EPOLLIN, {.fd = me->queue[me->head++]}};
        epoll_ctl(me->set, EPOLL_CTL_ADD, conn.data.fd, &conn);
      }
      pthread_mutex_unlock(&me->lock);
      continue;
    }
    char c;
    if (read(e.data.fd, &c, 1) == 1) request(e.data.fd, c);
    else close(e.data.fd);
  }
}
int main(void) {
  count = lf_pm(64);
  struct sockaddr_un name = {AF_UNIX, "/tmp/counter"};
  int listening = socket(AF_UNIX, SOCK_STREAM, 0);
  bind(listening, (struct sockaddr *)&name, sizeof name);
  listen(listening, 4);
  for (int i = 0; i < WORKERS; i++) {
    workers[i].wake = eventfd(0, 0); workers[i].set = epoll_create1(0);
    pthread_mutex_init(&workers[i].lock, 0);
    pthread_create(&workers[i].thread, 0, work, &workers[i]);
  }
  for (int i = 0;; i++) {
    int client = accept(listening, NULL, NULL);
    struct worker *w = &workers[i % WORKERS];
    pthread_mutex_lock(&w->lock);
    w->queue[w->tail++] = client;
    pthread_mutex_unlock(&w->lock);
    unsigned long one = 1;
    write(w->wake, &one, 8);
  }
}
