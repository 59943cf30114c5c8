/* run: --heap */
#include <stdlib.h>
int main(void) {
  void *block = malloc(0);
  free(block);
  free(block);
  return 0;
}
