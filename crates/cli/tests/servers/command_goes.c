// exit 0
/* client
connect unix:/tmp/s
# The server closes the connection, and the command hears of that.
run "printf q; cat > /dev/null"
expect-close

recovery:
connect unix:/tmp/s
run "printf q; test $(cat) = ab"
*/
#include "common.h"
int main(void) {
  char *kept = lf_pm(64), byte;
  int listening = listens();
  int client = accept(listening, NULL, NULL);
  if (read(client, &byte, 1) != 1 || byte != 'q')
    return 1;
  *kept = 1;
  lf_persist(kept, 1);
  write(client, "a", 1);
  write(client, "b", 1);
  close(client);
  return 0;
}
