/* run: --heap */
#include <stdlib.h>
int main(void) {
  long local[4] = {0};
  long *volatile place = local;
  free(place);
  return 0;
}
