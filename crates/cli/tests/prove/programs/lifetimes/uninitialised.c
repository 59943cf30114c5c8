/* What nobody wrote holds anything: a variable, a block of `malloc`. What `calloc` gives, and variables at file scope, are zero. */
#include <assert.h>
#include <stdlib.h>

static int at_file_scope;

static int sum(const int *numbers) { return numbers[0] + numbers[1]; }

int main(void) {
#if defined VARIABLE
  int numbers[2];
  numbers[0] = 0;
#elif defined BLOCK
  int *numbers = malloc(2 * sizeof *numbers);
  numbers[1] = 0;
#else
  int *numbers = calloc(2, sizeof *numbers);
#endif
  assert(sum(numbers) == at_file_scope);
  return 0;
}
