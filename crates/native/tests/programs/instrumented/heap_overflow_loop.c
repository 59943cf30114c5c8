/* run: --heap */
#include <stdlib.h>
int main(void) {
  short *numbers = calloc(5, sizeof *numbers);
  for (int i = 0; i <= 5; i++)
    numbers[i] = 1;
  return numbers[0];
}
