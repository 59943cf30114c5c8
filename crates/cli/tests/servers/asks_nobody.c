// exit 0
// says client.txt:6: nobody acknowledges `b`
/* client
connect unix:/tmp/s
acked a

recovery:
connect unix:/tmp/s
if acked b
  expect "never"
end
*/
#include "common.h"
int main(void) {
  *(char *)lf_pm(1) = 1;
  accept(listens(), NULL, NULL);
  pause();
}
