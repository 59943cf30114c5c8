// fence
#include <landfall.h>
struct r { long data[80], valid; };
void f(struct r *r) {
  for (int i = 0; i < 80; i += 8)
    /*@*/lf_flush(&r->data[i], 64);
  r->valid = 1;
  lf_flush(&r->valid, sizeof r->valid);
  lf_fence();
}
