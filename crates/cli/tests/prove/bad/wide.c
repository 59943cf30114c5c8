#include <landfall.h>
int main(void) {
  unsigned __int128 *p = lf_pm(sizeof *p);
  *p = *p / 3;
  return 0;
}
