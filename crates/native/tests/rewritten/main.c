/* Compiled by `landfall cc`; what the library does to persistent memory is not announced. */
#include <landfall.h>
#include <stdint.h>
#include <stdio.h>

uint64_t churn(void *memory, int turn);
uint64_t last(void *memory);

int main(int count, char **arguments) {
  char *memory = lf_pm(1 << 16);
  uint64_t all = 0;
  int often = count > 1 && arguments[1][0] == 'o';
  for (int turn = 0; turn < (often ? 400 : 12); turn++)
    all = all * 31 + churn(memory, turn) + last(memory + 8 * (turn % 12));
  printf("%016llx\n", (unsigned long long)all);
  fflush(stdout);
  if (count > 1 && !often)
    last((void *)16);
  return 0;
}
