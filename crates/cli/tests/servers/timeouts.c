// exit 0
// eager
/* client
connect unix:/tmp/s
wait 5s
send "?"
expect-line /[4-6]/
patience 2s
send "?"
expect-line /[4-8]/
*/
#include "common.h"
int main(void) {
  char *kept = lf_pm(64), byte, text[3];
  int set = epoll_create1(0), listening = listens(), seconds = 0, fd = accept(listening, NULL, NULL);
  struct epoll_event event = {EPOLLIN, {.fd = fd}};
  epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
  for (;;) {
    if (epoll_wait(set, &event, 1, 1000) == 0) {
      *kept = (char)++seconds;
      lf_persist(kept, 1);
      continue;
    }
    if (read(fd, &byte, 1) != 1)
      return 0;
    snprintf(text, sizeof text, "%d\n", seconds);
    write(fd, text, 2);
  }
}
