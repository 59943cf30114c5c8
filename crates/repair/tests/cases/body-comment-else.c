// durable
#include <landfall.h>
struct s { long a, b; };
void f(struct s *p, int c) {
  if (c)
    p->a /*@*/= 1;  // one
  else  // other
    p->b = 1;
}
