/* Twenty events, the size of a typical recovery. */
#include <landfall.h>
int main(void) {
  long *p = lf_pm(4096);
  for (int i = 0; i < 5; i++) {
    p[i * 8] = p[i * 8] + 1;
    lf_persist(&p[i * 8], sizeof *p);
  }
  return 0;
}
