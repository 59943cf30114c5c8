/* One recovery fails at once; another goes on for as long as it may. */
#include <assert.h>
#include <landfall.h>

int main(void) {
  volatile long *cell = lf_pm(256);
  assert(!(cell[8] == 1 && cell[0] == 0));
  for (volatile long i = 0; cell[16] == 1 && i >= 0; i++)
    ;
  cell[0] = 1;
  cell[8] = 1;
  lf_persist((void *)cell, 128);
  cell[16] = 1;
  lf_persist((void *)(cell + 16), 8);
}
