/* What every server here has: a table in persistent memory, and a loop that serves any number of clients, one line after the other.
 * What becomes of a line is each program's own. */
#define _GNU_SOURCE
#include <errno.h>
#include <landfall.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { SLOTS = 8, LINE = 128, CLIENTS = 16 };

struct slot {
  _Alignas(64) char value[32];
  char key[24];
  long used; /* Committed by this store; all of a slot is one line. */
};

static struct slot *slots;

static void reply(int client, const char *text) {
  if (send(client, text, strlen(text), MSG_NOSIGNAL) < 0)
    perror("send");
}

static struct slot *find(const char *key) {
  for (int i = 0; i < SLOTS; i++)
    if (slots[i].used && strcmp(slots[i].key, key) == 0)
      return &slots[i];
  return NULL;
}

static struct slot *unused(void) {
  for (int i = 0; i < SLOTS; i++)
    if (!slots[i].used)
      return &slots[i];
  return NULL;
}

static void get(int client, const char *key) {
  struct slot *slot = find(key);
  char answer[64];
  snprintf(answer, sizeof answer, "%s\r\n", slot ? slot->value : "NONE");
  reply(client, answer);
}

/* A line of a client. */
static void put(int client, const char *key, const char *value);

static void line(int client, char *text) {
  char key[24], value[32];
  if (sscanf(text, "set %23s %31s", key, value) == 2)
    put(client, key, value);
  else if (sscanf(text, "get %23s", key) == 1)
    get(client, key);
  else
    reply(client, "WHAT\r\n");
}

static struct {
  int fd;
  size_t length;
  char text[LINE];
} clients[CLIENTS];

static void readable(int which) {
  int fd = clients[which].fd;
  size_t room = sizeof clients[which].text - 1 - clients[which].length;
  ssize_t got = read(fd, clients[which].text + clients[which].length, room);
  if (got <= 0) {
    if (got < 0 && errno == EAGAIN)
      return;
    close(fd);
    clients[which].fd = 0;
    return;
  }
  clients[which].length += (size_t)got;
  clients[which].text[clients[which].length] = 0;
  char *end;
  while ((end = strchr(clients[which].text, '\n'))) {
    *end = 0;
    line(fd, clients[which].text);
    clients[which].length -= (size_t)(end + 1 - clients[which].text);
    memmove(clients[which].text, end + 1, clients[which].length + 1);
  }
}

static void newcomer(int set, int listening) {
  int fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  for (int i = 0; fd >= 0 && i < CLIENTS; i++)
    if (!clients[i].fd) {
      clients[i].fd = fd;
      clients[i].length = 0;
      struct epoll_event event = {EPOLLIN, {.u32 = (unsigned)i}};
      epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
      return;
    }
  close(fd);
}

int main(void) {
  slots = lf_pm(SLOTS * sizeof *slots);
  struct sockaddr_un name = {AF_UNIX, "/tmp/kv.sock"};
  int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
  unlink(name.sun_path);
  if (bind(listening, (struct sockaddr *)&name, sizeof name) || listen(listening, 8)) {
    perror(name.sun_path);
    return 1;
  }
  int set = epoll_create1(0);
  struct epoll_event event = {EPOLLIN, {.u32 = CLIENTS}}, ready[4];
  epoll_ctl(set, EPOLL_CTL_ADD, listening, &event);
  for (;;) {
    int count = epoll_wait(set, ready, 4, 1000);
    for (int i = 0; i < count; i++) {
      if (ready[i].data.u32 == CLIENTS)
        newcomer(set, listening);
      else
        readable((int)ready[i].data.u32);
    }
  }
}
