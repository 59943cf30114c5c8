// later
#include <landfall.h>
void f(long *p) {
  lf_persist(p, 8);
  /*@*/*p = 1;
  lf_persist(p, 8);
}
