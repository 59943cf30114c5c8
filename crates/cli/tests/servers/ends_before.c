// exit 100
// says `connect tcp:99` gets nothing: the server has ended
/* client
connect tcp:99
*/
#include "common.h"
int main(void) {
  *(char *)lf_pm(1) = 1;
  return 0;
}
