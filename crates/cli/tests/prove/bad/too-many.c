#include <landfall.h>
int main(void) {
  long *p = lf_pm(64);
  for (long i = 0; i < 200; i++)
    for (long j = 0; j < 200; j++)
      *p = i;
  return 0;
}
