// durable bytes=8
#include <landfall.h>
struct s { long a, b; };
void f(struct s *p, int c) {
	if (c)
		p->a /*@*/= 1; // x
	p->b = 2;
}