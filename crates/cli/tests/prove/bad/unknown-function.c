#include <landfall.h>
#include <time.h>
int main(void) {
  long *p = lf_pm(sizeof *p);
  *p = time(0);
  return 0;
}
