/* Correct, and without any flush between data and flag: both are on one cache line.
 *
 * A line is written back as a whole, and on x86 the stores to one line reach it in program order. Whoever sees the flag
 * in memory sees everything stored to the same line before it. The flush at the end only says when the record is safe. */
#include <assert.h>
#include <landfall.h>
#include <stdint.h>

struct record {
  _Alignas(64) uint64_t data[7];
  uint64_t valid; /* the last word of the same line */
};

static void write_record(struct record *r) {
  for (uint64_t i = 0; i < 7; i++)
    r->data[i] = i + 1;
  __atomic_store_n(&r->valid, 1, __ATOMIC_RELEASE);
  lf_persist(r, sizeof *r);
}

static void recover(const struct record *r) {
  if (!r->valid)
    return;
  for (uint64_t i = 0; i < 7; i++)
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
