// exit 0
// eager
/* client
connect unix:/tmp/s
send "a"
expect "b"
stop
expect-close
*/
#include "common.h"
static volatile sig_atomic_t over;
static void stop(int signal) { over = signal; }
int main(void) {
  char *kept = lf_pm(64), byte;
  struct sigaction action = {.sa_handler = stop};
  sigaction(SIGTERM, &action, NULL);
  int fd = accept(listens(), NULL, NULL);
  if (lf_failures())
    return 0;
  while (!over) {
    if (read(fd, &byte, 1) == 1) {
      *kept = byte;
      lf_persist(kept, 1);
      write(fd, "b", 1);
    } else if (errno != EINTR)
      return 1;
  }
  close(fd);
  return 0;
}
