#include <landfall.h>
int main(void) {
  long *p = lf_pm(sizeof *p);
  long i = 0;
  while (i >= 0)
    i = i == 100 ? 0 : i + 1;
  *p = i;
  return 0;
}
