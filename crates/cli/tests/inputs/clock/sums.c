/* Reads all there is, in every run. */
#include <assert.h>
#include <landfall.h>
#include <stdio.h>

int main(void) {
  static char piece[1 << 16];
  long *cell = lf_pm(64);
  long sum = 0;
  size_t read;
  while ((read = fread(piece, 1, sizeof piece, stdin)) > 0)
    sum += read;
  assert(cell[0] == 0 || cell[0] == sum);
  cell[0] = sum;
  lf_persist(cell, 8);
}
