/* An assertion of which it is plain that it holds has been proved; a program without any has nothing to prove. */
#include <assert.h>

int main(void) {
  int sum = 0;
  for (int i = 1; i <= 4; i++) sum += i;
#ifndef NOTHING
  assert(sum == 10);
#endif
  return sum != 10;
}
