// exit 0
/* client
connect unix:/tmp/s
expect "done"
*/
#include "common.h"
int main(void) {
  int listening = listens(), made = 0, refused = 0;
  *(char *)lf_pm(1) = 1;
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  for (int i = 0; i < 10000; i++) {
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    made += fd >= 0;
    refused += fd < 0 && errno == EMFILE;
  }
  if (made + refused != 10000 || made < 900 || made >= (int)limit.rlim_cur)
    return 1;
  /* Whoever waits is not lost. */
  if (accept(listening, NULL, NULL) != -1 || errno != EMFILE)
    return 2;
  close(10);
  int fd = accept(listening, NULL, NULL);
  if (fd != 10)
    return 3;
  for (int i = 0; i < 10000; i++) {
    int ends[2];
    close(11), close(12);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || write(ends[0], "x", 1) != 1)
      return 4;
  }
  write(fd, "done", 4);
  pause();
}
