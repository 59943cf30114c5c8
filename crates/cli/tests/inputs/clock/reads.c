/* Fails unless it is told the right number. */
#include <assert.h>
#include <landfall.h>
#include <stdio.h>

int main(void) {
  long *cell = lf_pm(64);
  int number = 0;
  if (scanf("%d", &number) != 1)
    fprintf(stderr, "no input\n");
  cell[0] = number;
  lf_persist(cell, 8);
  assert(number == 42);
}
