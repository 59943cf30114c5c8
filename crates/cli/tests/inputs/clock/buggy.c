#include <assert.h>
#include <landfall.h>

int main(void) {
  long *cell = lf_pm(128);
  assert(!(cell[8] == 1 && cell[0] == 0));
  cell[0] = 1;
  cell[8] = 1;
  lf_persist(cell, 128);
}
