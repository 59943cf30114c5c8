// exit 100
// says `connect tcp:99`: nobody listens there
/* client
connect tcp:99
*/
#include "common.h"
int main(void) {
  *(char *)lf_pm(1) = 1;
  accept(listens(), NULL, NULL);
  return 0;
}
