/* Recovery gives up with an exit code when it finds a flag without its data. */
#include <landfall.h>
#include <stdint.h>

struct record {
  _Alignas(64) uint64_t data;
  _Alignas(64) uint64_t valid;
};

int main(void) {
  struct record *r = lf_pm(sizeof *r);
  if (r->valid && !r->data)
    return 3;
  r->data = 1;
  r->valid = 1;
  lf_persist(r, sizeof *r);
  return 0;
}
