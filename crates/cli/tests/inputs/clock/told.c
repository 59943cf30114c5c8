/* A flush is missing, and only who is told 7 gets there. */
#include <assert.h>
#include <landfall.h>
#include <stdio.h>

int main(void) {
  long *cell = lf_pm(256);
  int number = 0;
  if (scanf("%d", &number) != 1)
    fprintf(stderr, "no input\n");
  assert(number == 7);
  if (cell[8])
    assert(cell[0] == 7);
  cell[0] = number;
  cell[8] = 1;
  lf_persist(&cell[8], 8);
}
