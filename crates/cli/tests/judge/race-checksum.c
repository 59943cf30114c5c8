// expect: clean
/* What a checksum guards may be torn: it is read in a region that says so. */
#include <landfall.h>
#include <stdint.h>

struct record {
  uint64_t data;
  uint64_t sum;
};

int main(void) {
  struct record *r = lf_pm(sizeof *r);
  if (lf_failures()) {
    lf_checksum_begin();
    uint64_t data = r->data, sum = r->sum;
    lf_checksum_end(sum == ~data);
    return 0;
  }
  r->data = 5;
  r->sum = ~r->data;
  lf_persist(r, sizeof *r);
  return 0;
}
