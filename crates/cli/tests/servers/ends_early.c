// exit 100
// says `expect "b"` gets nothing: the connection is closed
/* client
connect unix:/tmp/s
send "a"
expect "b"
*/
#include "common.h"
int main(void) {
  *(char *)lf_pm(1) = 1;
  accept(listens(), NULL, NULL);
  return 0;
}
