/* Sieve and sums on the ordinary heap: nothing persistent. */
#include <stdint.h>
#include <stdlib.h>
enum { N = 1 << 20, ROUNDS = 24 };
int main(void) {
  uint32_t *a = malloc(N * sizeof *a), sum = 0;
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < N; i++) {
      a[i] = a[(i * 7 + round) & (N - 1)] + i;
      sum += a[i];
    }
  return sum == 1;
}
