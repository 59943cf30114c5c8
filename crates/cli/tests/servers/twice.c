// flags --failures 2
// exit 0
// eager
/* client
connect unix:/tmp/s
send "1"
expect "k"
acked one

recovery:
connect unix:/tmp/s
if acked one
  send "?"
  expect "1" or "2"
else
  send "?"
  expect "0" or "1" or "2"
end
send "2"
expect "k"
acked two
send "?"
expect "2"
*/
#include "common.h"
int main(void) {
  char *kept = lf_pm(64), byte;
  int listening = listens();
  /* Whoever was told of 2 finds it at the next start. */
  if (lf_acked("two") && *kept != 2)
    abort();
  int fd = accept(listening, NULL, NULL);
  while (read(fd, &byte, 1) == 1) {
    if (byte == '?') {
      byte = (char)('0' + *kept);
      write(fd, &byte, 1);
      continue;
    }
    *kept = (char)(byte - '0');
    lf_persist(kept, 1);
    write(fd, "k", 1);
  }
  return 0;
}
