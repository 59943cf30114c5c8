// durable
#include <landfall.h>
struct s { long a, b; };
void f(struct s *p) {
  /* größe */ p->a /*@*/= 1;
}
