#include "pool.h"

int main(void) {
  long *p = (long *)0x100000000000;
  store(p);
  flush(p);
  fence();
  return 0;
}
