// exit 100
// says recovery fails: `run "printf ?; test $(head -c 1) = 1 || { echo it is gone >&2; exit 4; }"` fails: exit code 4: it is gone
/* client
connect unix:/tmp/s
# It asks, hears, and asks again for what depends on it.
run "printf 1; head -c 1 > /dev/null"
acked one

recovery:
connect unix:/tmp/s
if acked one
  run "printf ?; test $(head -c 1) = 1 || { echo it is gone >&2; exit 4; }"
else
  run "printf ?; case $(head -c 1) in 0|1) ;; *) exit 1;; esac"
end
*/
#include "common.h"
int main(void) {
  char *kept = lf_pm(64), byte;
  int listening = listens();
  for (;;) {
    int client = accept(listening, NULL, NULL);
    while (read(client, &byte, 1) == 1) {
      if (byte == '?') {
        byte = *kept ? *kept : '0';
        write(client, &byte, 1);
        continue;
      }
      *kept = byte;

      write(client, "k", 1); /* too early */
      lf_persist(kept, 1);
    }
    close(client);
  }
}
