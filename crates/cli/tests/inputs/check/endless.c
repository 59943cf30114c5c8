/* Recovery never ends when it finds the flag without its data. */
#include <landfall.h>
#include <stdint.h>

struct record {
  _Alignas(64) uint64_t data;
  _Alignas(64) uint64_t valid;
};

int main(void) {
  struct record *r = lf_pm(sizeof *r);
  volatile uint64_t *data = &r->data;
  while (r->valid && !*data)
    ;
  r->data = 1;
  r->valid = 1;
  lf_persist(r, sizeof *r);
  return 0;
}
