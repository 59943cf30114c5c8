#include <assert.h>
#include <landfall.h>

int main(void) {
  long *p = lf_pm(64);
  *p = 1;
  assert(*p == 2);
  return 0;
}
