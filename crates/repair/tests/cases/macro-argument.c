// durable
#include <landfall.h>
#define STORE(p, v) (*(p) = (v))
void f(long *p) {
  /*@*/STORE(p++, 1);
}
