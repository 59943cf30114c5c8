/* run: --heap */
#include <stdlib.h>
int main(void) {
  long *numbers = malloc(64);
  numbers[0] = 1;
  return (int)numbers[-1];
}
