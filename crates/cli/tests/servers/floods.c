// exit 2
// says the program sends to its client without end
/* client
connect unix:/tmp/s
wait 1s
expect "never"
*/
#include "common.h"
int main(void) {
  static char much[1 << 16];
  *(char *)lf_pm(1) = 1;
  int fd = accept(listens(), NULL, NULL);
  for (;;)
    write(fd, much, sizeof much);
}
