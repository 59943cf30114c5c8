/* BROKEN: a flag says that the log is there, set without waiting for the log.
 *
 * Missing: a checksum, or a flush and fence between the log and the flag. The flag shares a line with the first value but
 * not with the second one, and recovery applies a log that is half there. */
#include <assert.h>
#include <landfall.h>
#include <stdint.h>

struct store {
  _Alignas(64) uint64_t first;
  _Alignas(64) uint64_t second; /* always twice the first */
  _Alignas(64) uint64_t log_first;
  uint64_t present;
  _Alignas(64) uint64_t log_second;
};

static void apply(struct store *s) {
  s->first = s->log_first;
  s->second = s->log_second;
  lf_flush(&s->first, sizeof s->first);
  lf_flush(&s->second, sizeof s->second);
  lf_fence();
}

static void update(struct store *s, uint64_t value) {
  s->log_first = value;
  s->log_second = 2 * value;  //~ lost
  __atomic_store_n(&s->present, 1, __ATOMIC_RELEASE);  //~ kept
  lf_persist(&s->log_first, 128);
  apply(s);
  __atomic_store_n(&s->present, 0, __ATOMIC_RELEASE);
  lf_persist(&s->present, sizeof s->present);
}

static void recover(struct store *s) {
  if (s->present)
    apply(s);
  assert(s->second == 2 * s->first);  //~ fails
}

int main(void) {
  struct store *s = lf_pm(sizeof *s);
  recover(s);
  uint64_t value = s->first;
  update(s, value + 1);
  update(s, value + 2);
  assert(s->second == 2 * s->first);
  return 0;
}
