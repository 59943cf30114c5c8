// Without debug information the record still names file and function.
// options: -g0
#include "pm.h"

int main(void) {
  *(int *)pm(0) = 1;
  return 0;
}
