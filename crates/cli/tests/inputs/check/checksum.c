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

int main(void) {
  struct record *record = lf_pm(sizeof *record);
  BEGIN();
  int accepted = record->sum == sum(record);
  END(accepted);
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
