// exit 0
// eager
/* client
connect unix:/tmp/s
send "a"
expect-close
connect unix:/tmp/s
send "b"
expect "b"
close
*/
#include "common.h"
int main(void) {
  char *kept = lf_pm(64), byte;
  int listening = listens(), first = accept(listening, NULL, NULL);
  if (read(first, &byte, 1) != 1 || close(first) || close(first) != -1 || errno != EBADF)
    return 1;
  *kept = byte;
  int second = accept(listening, NULL, NULL);
  if (second != first || read(second, &byte, 1) != 1 || write(second, &byte, 1) != 1 || read(second, &byte, 1) != 0)
    return 2;
  return 0;
}
