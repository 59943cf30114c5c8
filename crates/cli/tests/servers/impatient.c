// exit 100
// says `expect "ax"` gets only "a": the server waits for more
/* client
connect unix:/tmp/s
patience 2s
expect "ax"
*/
#include "common.h"
int main(void) {
  char *kept = lf_pm(64);
  int set = epoll_create1(0), fd = accept(listens(), NULL, NULL);
  struct epoll_event event = {EPOLLIN, {.fd = fd}};
  write(fd, "a", 1);
  for (;;) {
    epoll_wait(set, &event, 1, 500);
    *kept += 1;
  }
}
