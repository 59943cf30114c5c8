/* BROKEN: the data is flushed before the flag is set, but nobody waits for the flush.
 *
 * Missing: `_mm_sfence()` between the clwb and the store to `valid`. A clwb only starts a write-back; later stores may
 * overtake it. The fence at the end comes too late: recovery can see the flag without the data. */
#include <assert.h>
#include <immintrin.h>
#include <landfall.h>
#include <stdint.h>

struct record {
  uint64_t data[8];  /* one cache line */
  uint64_t valid;    /* on the next one */
};

__attribute__((target("clwb"))) static void write_record(struct record *r) {
  for (uint64_t i = 0; i < 8; i++)
    r->data[i] = i + 1;  //~ lost
  _mm_clwb(r->data);
  __atomic_store_n(&r->valid, 1, __ATOMIC_RELEASE);  //~ kept
  _mm_clwb(&r->valid);
  _mm_sfence();
}

static void recover(const struct record *r) {
  if (!r->valid)
    return;
  for (uint64_t i = 0; i < 8; i++)
    assert(r->data[i] == i + 1);  //~ fails
}

int main(void) {
  struct record *r = lf_pm(sizeof *r);
  recover(r);
  if (!r->valid)
    write_record(r);
  recover(r);
  return 0;
}
