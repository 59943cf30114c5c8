// exit 0
// silent could not
/* client
connect unix:/tmp/s
# It asks, hears, and asks again for what depends on it.
run "printf 1; test $(head -c 1) = k || exit 1; printf ?; test $(head -c 1) = 1"
acked one
run "printf 2; head -c 1 > /dev/null"

recovery:
connect unix:/tmp/s
if acked one
  run "printf ?; case $(head -c 1) in 1|2) ;; *) exit 1;; esac"
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
      lf_persist(kept, 1);
      write(client, "k", 1);
    }
    close(client);
  }
}
