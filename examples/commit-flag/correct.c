/* A record becomes valid when its flag is set. The data must be durable before the flag can be:
 * write the data, write its line back, wait, only then set the flag.
 *
 * After a power failure the flag is either clear (and the data does not matter) or set (and the data is complete). */
#include <assert.h>
#include <landfall.h>
#include <stdint.h>

struct record {
  uint64_t data[8];  /* one cache line */
  uint64_t valid;    /* on the next one */
};

static void write_record(struct record *r) {
  for (uint64_t i = 0; i < 8; i++)
    r->data[i] = i + 1;
  lf_persist(r->data, sizeof r->data);
  __atomic_store_n(&r->valid, 1, __ATOMIC_RELEASE);
  lf_persist(&r->valid, sizeof r->valid);
}

static void recover(const struct record *r) {
  if (!r->valid)
    return;
  for (uint64_t i = 0; i < 8; i++)
    assert(r->data[i] == i + 1);
}

int main(void) {
  struct record *r = lf_pm(sizeof *r);
  recover(r);
  if (!r->valid)
    write_record(r);
  recover(r);
  return 0;
}
