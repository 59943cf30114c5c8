// durable
struct root { long a, b; };
void f(struct root *r) {
  r->a /*@*/= 1;
}
