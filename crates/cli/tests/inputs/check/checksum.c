/* A record of LINES lines behind a checksum, written in any order and made durable at once. */
#include <assert.h>
#include <landfall.h>
#include <stdint.h>

#ifndef LINES
#define LINES 16
#endif
#define WORDS (8 * LINES - 2)
#ifdef SHORT
#define COVERED (WORDS - 8) /* the last line is not in the sum */
#else
#define COVERED WORDS
#endif
#ifdef SAID
#define BEGIN() lf_checksum_begin()
#define END(accepted) lf_checksum_end(accepted)
#else
#define BEGIN()
#define END(accepted) (void)(accepted)
#endif

struct record {
  uint64_t sum, number, words[WORDS];
};

static uint64_t sum(const struct record *r) {
  uint64_t sum = (0xcbf29ce484222325u ^ r->number) * 0x100000001b3u;
  for (int i = 0; i < COVERED; i++)
    sum = (sum ^ r->words[i]) * 0x100000001b3u;
  return sum;
}

#ifdef PMDK
/* As PMDK has it for the entries of undo logs: computed by one function, gone on with by another, and compared where they are called. */
uint64_t util_checksum_compute(void *from, uint64_t bytes, uint64_t *sum, uint64_t skip);
uint64_t util_checksum_compute(void *from, uint64_t bytes, uint64_t *sum_of, uint64_t skip) {
  (void)bytes, (void)sum_of, (void)skip;
  return sum(from);
}
uint64_t util_checksum_seq(const void *from, uint64_t bytes, uint64_t sum);
uint64_t util_checksum_seq(const void *from, uint64_t bytes, uint64_t sum) {
  const char *bytes_of = from;
  while (bytes--)
    sum += *bytes_of++;
  return sum;
}
static int accepts(struct record *record) {
  uint64_t found = util_checksum_compute(record, sizeof *record, &record->sum, 0);
  found = util_checksum_seq("", 1, found);
  if (record->sum != found)
    return 0;
  return 1;
}
#else
static int accepts(struct record *record) {
  BEGIN();
  int accepted = record->sum == sum(record);
  END(accepted);
  return accepted;
}
#endif

int main(void) {
  struct record *record = lf_pm(sizeof *record);
  int accepted = accepts(record);
  if (accepted)
    for (int i = 0; i < WORDS; i++)
      assert(record->words[i] == record->number + i);
  struct record next = {.number = 7};
  for (int i = 0; i < WORDS; i++)
    next.words[i] = next.number + i;
  next.sum = sum(&next);
  *record = next;
  lf_persist(record, sizeof *record);
}
