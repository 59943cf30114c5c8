#include <landfall.h>
int main(void) {
  char *p = lf_alloc(lf_nondet() & 63);
  *p = 1;
  return 0;
}
