#include <assert.h>
#include <landfall.h>
int main(void) {
  double *p = lf_pm(sizeof *p);
  assert(*p < 1);
  *p = *p + 0.5;
  return 0;
}
