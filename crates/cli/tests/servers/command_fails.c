// exit 100
// says the program fails without any power failure: `run "cat > /dev/null; echo no >&2; exit 2"` fails: exit code 2: no
// says client.txt:2:1
/* client
connect unix:/tmp/s
run "cat > /dev/null; echo no >&2; exit 2"
*/
#include "common.h"
int main(void) {
  char *kept = lf_pm(64);
  int listening = listens();
  int client = accept(listening, NULL, NULL);
  *kept = 1;
  close(client);
  return 0;
}
