/* run: --heap */
#include <stdlib.h>
int main(void) {
  int *numbers = malloc(4 * sizeof *numbers);
  numbers[3] = 7;
  free(numbers);
  return numbers[3];
}
