#include <landfall.h>
int main(void) {
  long *p = lf_alloc(64);
  lf_free(p);
  return 0;
}
