// exit 100
// says error[client]
// says `expect-line "hello"` gets nothing: the server waits for more
// says client.txt:3:1
/* client
connect unix:/tmp/s
send "hi\n"
expect-line "hello"
*/
#include "common.h"
int main(void) {
  *(char *)lf_pm(1) = 1;
  accept(listens(), NULL, NULL);
  pause();
}
