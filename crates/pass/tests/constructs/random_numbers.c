// rdrand and rdseed are asked of the runtime, in every width.
#include "pm.h"
#include <immintrin.h>

__attribute__((target("rdrnd,rdseed"))) int main(void) {
  unsigned short half;
  unsigned word;
  unsigned long long whole;
  assert(_rdrand16_step(&half) == 1 && half == 0x7788);
  assert(_rdrand32_step(&word) == 1 && word == 0x55667788);
  assert(_rdrand64_step(&whole) == 1 && whole == 0x1122334455667788);
  assert(_rdseed64_step(&whole) == 1 && whole == 0x1122334455667788);
  return 0;
}
