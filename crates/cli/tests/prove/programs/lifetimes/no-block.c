/* What is freed must be what `malloc` gave. */
#include <assert.h>
#include <stdlib.h>

int main(void) {
  long variable = 0, *block = malloc(2 * sizeof *block);
  block[0] = block[1] = 1;
  assert(block[0] + block[1] + variable == 2);
#if defined MIDDLE
  free(block + 1);
#elif defined VARIABLE
  free(&variable);
#else
  free(block);
  free(NULL);
#endif
  return 0;
}
