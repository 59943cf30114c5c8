// An endless loop without any memory access ends by its budget.
#include "pm.h"

extern int64_t __lf_budget;

int main(void) {
  *(int *)pm(0) = 1;
  __lf_budget = 1000;
  for (;;) {
  }
}
