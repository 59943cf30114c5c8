// exit 100
// says the program listens at unix:/tmp/s, and nobody connects: give it a client, as in --client FILE
#include "common.h"
int main(void) {
  *(char *)lf_pm(1) = 1;
  accept(listens(), NULL, NULL);
  return 0;
}
