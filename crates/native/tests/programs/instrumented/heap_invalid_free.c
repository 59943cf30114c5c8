/* run: --heap */
#include <stdlib.h>
int main(void) {
  char *block = malloc(100);
  free(block + 16);
  return 0;
}
