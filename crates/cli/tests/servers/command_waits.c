// exit 100
// says `run "cat"` gets nothing: the server waits for more
/* client
connect unix:/tmp/s
run "cat"
*/
#include "common.h"
int main(void) {
  char *kept = lf_pm(64), byte;
  int listening = listens();
  int client = accept(listening, NULL, NULL);
  *kept = 1;
  return read(client, &byte, 1) != 1;
}
